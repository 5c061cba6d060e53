/** Splits a path into its decoded parts, or gives null if one cannot be decoded. Slashes at the ends do not count. */
export function split(path) {
  try {
    return path.split('/').filter((part) => part !== '').map(decodeURIComponent);
  } catch {
    return null;
  }
}

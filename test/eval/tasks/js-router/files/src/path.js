/** Splits a path into its decoded parts. Slashes at the ends do not count. */
export function split(path) {
  return decodeURIComponent(path).split('/').filter((part) => part !== '');
}

/** Parses what stands behind the question mark. */
export function parseQuery(text) {
  const query = {};
  for (const [key, value] of new URLSearchParams(text)) {
    if (!Object.hasOwn(query, key)) query[key] = value;
    else query[key] = [].concat(query[key], value);
  }
  return query;
}

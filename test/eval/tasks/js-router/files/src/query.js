/** Parses what stands behind the question mark. */
export function parseQuery(text) {
  const query = {};
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const [key, value = ''] = pair.split('=');
    if (!(key in query)) query[key] = decodeURIComponent(value);
  }
  return query;
}

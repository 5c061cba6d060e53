/** Splits a template into texts and tags: {type: 'text', value} and {type: 'tag', value, line}. */
export function tokens(template) {
  const found = [];
  const tag = /{{(.*?)}}/g;
  let last = 0;
  for (const m of template.matchAll(tag)) {
    if (m.index > last) found.push({type: 'text', value: template.slice(last, m.index)});
    found.push({type: 'tag', value: m[1].trim(), line: 1});
    last = m.index + m[0].length;
  }
  if (last < template.length) found.push({type: 'text', value: template.slice(last)});
  return found;
}

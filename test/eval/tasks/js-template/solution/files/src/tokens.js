/** Splits a template into texts and tags: {type: 'text', value} and {type: 'tag', value, raw, line}. Quoted texts may contain braces. */
export function tokens(template) {
  const found = [];
  const tag = /{{{((?:"[^"]*"|[^"])*?)}}}|{{((?:"[^"]*"|[^"])*?)}}/g;
  let last = 0;
  for (const m of template.matchAll(tag)) {
    if (m.index > last) found.push({type: 'text', value: template.slice(last, m.index)});
    const line = template.slice(0, m.index).split('\n').length;
    found.push({type: 'tag', value: (m[1] ?? m[2]).trim(), raw: m[1] !== undefined, line});
    last = m.index + m[0].length;
  }
  if (last < template.length) found.push({type: 'text', value: template.slice(last)});
  return found;
}

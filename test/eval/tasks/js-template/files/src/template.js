import {tokens} from './tokens.js';

export function escape(text) {
  return text.replace(/[&<>"]/g, (c) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'})[c]);
}

function lookup(data, path) {
  let value = data;
  for (const name of path.split('.')) value = value?.[name];
  return value ?? '';
}

export function render(template, data) {
  return tokens(template).map((t) => (t.type === 'text' ? t.value : escape(String(lookup(data, t.value))))).join('');
}

import {tokens} from './tokens.js';

export function escape(text) {
  return text.replace(/[&<>"]/g, (c) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'})[c]);
}

const filters = {
  upper: (v) => String(v ?? '').toUpperCase(),
  default: (v, arg) => (truthy(v) || v === 0 ? v : arg),
  join: (v, arg) => (Array.isArray(v) ? v.join(arg) : v),
};

function truthy(v) {
  return Array.isArray(v) ? v.length > 0 : Boolean(v);
}

function lookup(scopes, path) {
  if (path === 'this') return scopes[0].value;
  if (path === '@index') return scopes[0].index;
  const [first, ...rest] = path.split('.');
  for (const {value} of scopes) {
    if (value !== null && typeof value === 'object' && first in value) {
      return rest.reduce((v, name) => v?.[name], value[first]);
    }
  }
  return undefined;
}

function evaluate(tag, scopes) {
  const [path, ...steps] = tag.value.match(/(?:"[^"]*"|[^|"])+/g).map((p) => p.trim());
  let value = lookup(scopes, path);
  for (const step of steps) {
    const [, name, arg] = /^(\w+)(?::"([^"]*)")?$/.exec(step) ?? [];
    if (!Object.hasOwn(filters, name ?? '')) throw new Error(`line ${tag.line}: there is no filter ${step}`);
    value = filters[name](value, arg ?? '');
  }
  const text = String(value ?? '');
  return tag.raw || steps.length ? text : escape(text);
}

function parse(all) {
  const root = {body: []};
  const stack = [root];
  for (const t of all) {
    const top = stack.at(-1);
    const into = top.inElse ? top.other : top.body;
    const begin = t.type === 'tag' && /^#(each|if)\s+(\S+)$/.exec(t.value);
    if (begin) {
      const block = {type: begin[1], path: begin[2], line: t.line, body: [], other: []};
      into.push(block);
      stack.push(block);
    } else if (t.type === 'tag' && t.value === 'else' && top.type === 'if') top.inElse = true;
    else if (t.type === 'tag' && t.value.startsWith('/')) {
      if (t.value.slice(1) !== top.type) throw new Error(`line ${t.line}: {{${t.value}}} closes nothing`);
      stack.pop();
    } else into.push(t);
  }
  if (stack.length > 1) throw new Error(`line ${stack.at(-1).line}: {{#${stack.at(-1).type}}} is not closed`);
  return root.body;
}

function run(nodes, scopes) {
  return nodes.map((n) => {
    if (n.type === 'text') return n.value;
    if (n.type === 'tag') return evaluate(n, scopes);
    const value = lookup(scopes, n.path);
    if (n.type === 'if') return run(truthy(value) ? n.body : n.other, scopes);
    return (Array.isArray(value) ? value : []).map((v, index) => run(n.body, [{value: v, index}, ...scopes])).join('');
  }).join('');
}

export function render(template, data) {
  return run(parse(tokens(template)), [{value: data}]);
}

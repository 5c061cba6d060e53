// SPDX-License-Identifier: Apache-2.0

// Elements are made of texts alone. No function of this page takes markup: what a model or a tool wrote stays a text.

// el makes an element. Attributes that are functions listen to events, and style is an object: a style attribute is refused by the page's policy.
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (name === 'style') for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((c) => c != null && c !== false && c !== ''));
  return node;
}

// foreign shows a text that is not this page's. Its characters stand in the order in which they are: the server spelled out those that hide or turn.
export function foreign(text, more = '') {
  return el('pre', {class: `foreign ${more}`, dir: more.includes('exact') ? 'ltr' : 'auto'}, text);
}

// diff shows a unified diff.
export function diff(text) {
  const kinds = {'+': 'added', '-': 'removed', '@': 'hunk'};
  const lines = text.split('\n').map((line) => el('span', {class: kinds[line[0]] ?? ''}, line + '\n'));
  return el('pre', {class: 'foreign exact diff', dir: 'ltr', tabindex: '0', role: 'group', 'aria-label': 'Changes'}, lines);
}

// keyed shows items, each in an element of its own that stays as long as the item does: an element that a person writes in or reads is not taken away
// under their hands. busy reports whether that is so, and stale tells an element that its item changed or is gone.
export function keyed(parent, items, {key, render, busy = () => false, stale = () => {}}) {
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let before = null;
  for (const item of items) {
    const name = key(item), shows = JSON.stringify(item);
    let node = old.get(name);
    old.delete(name);
    if (node && node.shows !== shows && busy(node)) {
      stale(node, item);
    } else if (!node || node.shows !== shows) {
      const fresh = render(item, node);
      fresh.dataset.key = name;
      fresh.shows = shows;
      node?.replaceWith(fresh);
      node = fresh;
    }
    const next = before ? before.nextSibling : parent.firstChild;
    if (node !== next) parent.insertBefore(node, next);
    before = node;
  }
  for (const node of old.values()) {
    if (busy(node)) stale(node, null);
    else node.remove();
  }
}

let names = 0;

// unique is an id for an element.
export const unique = (word) => `${word}-${++names}`;

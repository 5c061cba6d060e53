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
  const there = new Set(items.map(key));
  // What is gone goes first: to put the others in order around it would move them, and an element that is moved loses the focus.
  for (const [name, node] of old) {
    if (there.has(name)) continue;
    if (busy(node)) stale(node, null);
    else node.remove();
  }
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item), shows = JSON.stringify(item);
    let node = old.get(name);
    if (node && node.shows !== shows && busy(node)) {
      stale(node, item);
    } else if (!node || node.shows !== shows) {
      const fresh = render(item, node);
      fresh.dataset.key = name;
      fresh.shows = shows;
      if (node === next) next = fresh;
      if (node) node.replaceWith(fresh);
      node = fresh;
    }
    while (next && !there.has(next.dataset.key)) next = next.nextElementSibling;
    if (node === next) next = next.nextElementSibling;
    else if (parent.moveBefore && node.parentNode === parent) parent.moveBefore(node, next);
    else parent.insertBefore(node, next);
  }
}

let names = 0;

// unique is an id for an element.
export const unique = (word) => `${word}-${++names}`;

// SPDX-License-Identifier: Apache-2.0

import {get, logout, openWindow} from './api.js';
import {el} from './dom.js';
import {follow} from './live.js';
import {inbox} from './inbox.js';
import {runs} from './runs.js';
import {run} from './run.js';
import {skills} from './skills.js';
import {skill} from './skill.js';

const main = document.getElementById('main');
const said = document.getElementById('said');
const liveLine = document.getElementById('live');

// say tells the person something that happened, in a line that screen readers read out.
export function say(text, bad = false) {
  said.textContent = text;
  said.className = bad ? 'bad' : '';
}

const namespaceKey = 'namespace';
// everywhere is the value for all namespaces.
const everywhere = '*';

let namespace = '';
let view = null;
let loading = null, again = false, last = 0, timer = 0;

// A view has a node, load, which reads what it shows, wants, which reports whether a change is one that it shows, and needs, the kinds that it is of.
const routes = [
  [/^\/inbox$/, () => inbox({namespace, say})],
  [/^\/runs$/, () => runs({namespace})],
  [/^\/runs\/([^/]+)\/([^/]+)$/, (ns, name) => run({namespace: ns, name, say})],
  [/^\/skills$/, () => skills({namespace})],
  [/^\/skills\/([^/]+)\/([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/, (ns, name, revision, base) => skill({namespace: ns, name, revision, base, say, reload: () => reload(0)})],
];

function route() {
  const at = location.hash.slice(1) || '/inbox';
  // The link to the content is no page.
  if (!at.startsWith('/')) return;
  for (const [pattern, make] of routes) {
    const found = pattern.exec(at);
    if (!found) continue;
    view = make(...found.slice(1).map((part) => part && decodeURIComponent(part)));
    main.replaceChildren(view.node);
    showLive();
    for (const link of document.querySelectorAll('nav a')) {
      if (at.startsWith(link.hash.slice(1))) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    document.title = `${view.title} · Motor Cortex`;
    say('');
    main.focus({preventScroll: true});
    scrollTo(0, 0);
    reload(0);
    return;
  }
  location.hash = '#/inbox';
}

// reload reads the view again, after a pause in which more changes may come. It reads once at a time.
function reload(pause) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    if (loading) {
      again = true;
      return;
    }
    const of = view;
    loading = of.load();
    try {
      await loading;
      if (said.className === 'bad load') say('');
    } catch (e) {
      if (of === view) {
        say(e.message);
        said.className = 'bad load';
      }
    }
    loading = null;
    last = Date.now();
    if (again || of !== view) {
      again = false;
      reload(of === view ? view.pause ?? 300 : 0);
    }
  }, Math.max(pause, pause && last + (view.pause ?? 300) - Date.now()));
}

const troubles = new Map();

function told(changes) {
  for (const c of changes) if (c.kind === 'trouble') c.text ? troubles.set(c.name, c.text) : troubles.delete(c.name);
  showLive();
  if (changes.some((c) => c.kind === 'all' || view?.wants(c))) reload(150);
}

let broken = '';

function showLive() {
  // What the page of this moment does not show is no trouble for the person.
  const text = broken || [...troubles].filter(([kind]) => view?.needs.includes(kind)).map(([, why]) => why).join(' ');
  liveLine.hidden = text === '';
  liveLine.textContent = text && `Not live: ${text}`;
  // What cannot be watched is read every now and then.
  clearInterval(showLive.poll);
  if (text) showLive.poll = setInterval(() => reload(1), 15000);
}

let stop = new AbortController();

function connect() {
  stop.abort();
  stop = new AbortController();
  troubles.clear();
  follow(namespace, stop.signal, told, (why) => {
    broken = why;
    showLive();
  });
}

function choose(value) {
  namespace = value === everywhere ? '' : value;
  sessionStorage.setItem(namespaceKey, value);
  connect();
  route();
}

async function chooser(first) {
  const form = document.getElementById('where');
  const label = el('label', {for: 'namespace'}, 'Namespace');
  form.addEventListener('submit', (e) => e.preventDefault());
  try {
    const {items} = await get('namespaces');
    const names = [...new Set([first, ...items].filter((n) => n && n !== everywhere))].sort();
    const select = el('select', {id: 'namespace', change: () => choose(select.value)},
      el('option', {value: everywhere}, 'All namespaces'), names.map((n) => el('option', {value: n}, n)));
    select.value = first;
    form.replaceChildren(label, select);
  } catch {
    // A person who may not list namespaces knows the names of theirs.
    const input = el('input', {id: 'namespace', value: first, autocomplete: 'off', spellcheck: 'false', change: () => choose(input.value.trim() || everywhere)});
    form.replaceChildren(label, input);
  }
}

const loginLink = document.getElementById('login');
const beforeKey = 'before-login', triedKey = 'tried-login';

// A window that lost its login says so, and what a person typed stays.
addEventListener('login', (e) => {
  loginLink.href = e.detail;
  loginLink.hidden = false;
});
loginLink.addEventListener('click', () => sessionStorage.setItem(beforeKey, location.hash));

// toLogin leads to the login, and after it back to what the address asked for. It does so once in a while: a browser that keeps no cookies would be led
// there for ever.
function toLogin(path) {
  if (Date.now() - Number(sessionStorage.getItem(triedKey)) < 30000) return false;
  sessionStorage.setItem(triedKey, String(Date.now()));
  sessionStorage.setItem(beforeKey, location.hash);
  location.assign(path);
  return true;
}

function showUser(me) {
  document.getElementById('user').textContent = `You are ${me.user}.`;
  loginLink.hidden = true;
  sessionStorage.removeItem(triedKey);
  const before = sessionStorage.getItem(beforeKey);
  sessionStorage.removeItem(beforeKey);
  if (before?.startsWith('#/') && !location.hash) history.replaceState(null, '', before);
  const button = document.getElementById('logout');
  button.hidden = !me.logout;
  button.addEventListener('click', async () => {
    try {
      const {login} = await logout(me.logout);
      stop.abort();
      removeEventListener('hashchange', route);
      // What the person saw is not for the next one at this screen.
      view = null;
      main.replaceChildren();
      sessionStorage.clear();
      sessionStorage.setItem(triedKey, String(Date.now()));
      button.hidden = true;
      document.getElementById('user').textContent = '';
      dispatchEvent(new CustomEvent('login', {detail: login}));
      say('You are logged out here. The login at the issuer may go on: log out there, too, if others use this browser.');
    } catch (e) {
      say(e.message, true);
    }
  });
}

async function start() {
  try {
    await openWindow();
    const me = await get('me');
    showUser(me);
    const first = sessionStorage.getItem(namespaceKey) ?? me.namespace;
    namespace = first === everywhere ? '' : first;
    addEventListener('hashchange', route);
    // A browser has six connections to a server. A window that is not looked at leaves its own to the others, and reads anew when it is.
    document.addEventListener('visibilitychange', () => (document.hidden ? stop.abort() : connect()));
    connect();
    route();
    await chooser(first);
  } catch (e) {
    if (e.login && toLogin(e.login)) return;
    say(e.message, true);
  }
}

document.getElementById('skip').addEventListener('click', (e) => {
  e.preventDefault();
  main.focus();
});
start();

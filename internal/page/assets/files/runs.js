// SPDX-License-Identifier: Apache-2.0

import {get, path} from './api.js';
import {setNow, when} from './clock.js';
import {el, keyed} from './dom.js';

const states = ['all', 'waiting', 'running', 'suspended', 'succeeded', 'failed'];

// filters stay while a person looks at a run and comes back.
const filters = {state: 'all', text: ''};

function row(r) {
  return el('tr', {},
    el('th', {scope: 'row'}, el('a', {href: `#/runs/${path(r.namespace, r.name)}`}, r.name), el('div', {class: 'meta'}, r.namespace, r.skill && ` · skill ${r.skill}`)),
    el('td', {'data-label': 'State'}, el('span', {class: `badge ${r.state}`}, r.state), r.reason && el('div', {class: 'meta'}, r.reason)),
    el('td', {'data-label': 'Waits for'}, r.waitsFor),
    el('td', {'data-label': 'Task', class: 'task'}, r.task),
    el('td', {'data-label': 'Steps', class: 'number'}, `${r.steps}`),
    el('td', {'data-label': 'Tokens', class: 'number'}, r.tokens.toLocaleString()),
    el('td', {'data-label': 'Created'}, when(r.created)));
}

// runs lists runs, the newest first.
export function runs({namespace}) {
  const body = el('tbody');
  const empty = el('p', {class: 'empty', hidden: true});
  const state = el('select', {id: 'state', change: () => (filters.state = state.value, show())}, states.map((s) => el('option', {value: s}, s)));
  const text = el('input', {id: 'text', type: 'search', value: filters.text, input: () => (filters.text = text.value, show())});
  state.value = filters.state;
  let items = [], next = '', pages = 1;
  // read reads as many pages as the person asked for.
  const read = async () => {
    let all = [], from = '';
    for (let i = 0; i < pages && (i === 0 || from); i++) {
      const page = await get('runs', {namespace, continue: from || undefined});
      setNow(page.now);
      all = all.concat(page.items);
      from = page.continue;
    }
    items = all.sort((a, b) => Date.parse(b.created) - Date.parse(a.created));
    next = from;
    show();
  };
  const more = el('button', {type: 'button', hidden: true, click: async () => {
    pages++;
    more.disabled = true;
    await read().catch(() => pages--);
    more.disabled = false;
  }}, 'Show more');
  const show = () => {
    const word = filters.text.toLowerCase();
    const fit = items.filter((r) => (filters.state === 'all' || r.state === filters.state) &&
      [r.name, r.namespace, r.task, r.skill, r.requester, r.reason].some((t) => t?.toLowerCase().includes(word)));
    keyed(body, fit, {key: (r) => r.uid, render: row});
    empty.hidden = fit.length > 0;
    empty.textContent = items.length ? 'No run fits.' : 'There are no runs.';
    more.hidden = !next;
  };
  return {
    title: 'Runs',
    pause: 1000,
    node: el('div', {}, el('h1', {}, 'Runs'),
      el('form', {class: 'filters', submit: (e) => e.preventDefault()},
        el('label', {for: 'state'}, 'State'), state, el('label', {for: 'text'}, 'Search'), text),
      el('div', {class: 'scroll'}, el('table', {class: 'rows'},
        el('thead', {}, el('tr', {}, ['Run', 'State', 'Waits for', 'Task', 'Steps', 'Tokens', 'Created'].map((h) => el('th', {scope: 'col'}, h)))), body)),
      empty, more),
    needs: ['MotorRun'],
    wants: (c) => c.kind === 'run',
    load: read,
  };
}

// SPDX-License-Identifier: Apache-2.0

import {get, path} from './api.js';
import {el, keyed} from './dom.js';

// skills lists skills.
export function skills({namespace}) {
  const list = el('div', {class: 'cards'});
  const empty = el('p', {class: 'empty', hidden: true}, 'There are no skills.');
  const more = el('p', {class: 'note', hidden: true}, 'There are more skills: choose a namespace.');
  return {
    title: 'Skills',
    pause: 1000,
    node: el('div', {}, el('h1', {}, 'Skills'), empty, list, more),
    needs: ['Skill'],
    wants: (c) => c.kind === 'skill',
    async load() {
      const answer = await get('skills', {namespace});
      keyed(list, answer.items, {key: (s) => s.uid, render: (s) => el('article', {class: 'card'},
        el('h2', {}, el('a', {href: `#/skills/${path(s.namespace, s.name)}`}, s.name), ' ', el('span', {class: `badge ${s.state.toLowerCase()}`}, s.state || 'not looked at yet')),
        el('p', {class: 'meta'}, s.namespace, ` · ${s.runs} runs`, s.successRate && `, ${s.successRate} succeeded`),
        s.description && el('p', {}, s.description), s.message && el('p', {class: 'meta'}, s.message))});
      empty.hidden = answer.items.length > 0;
      more.hidden = !answer.continue;
    },
  };
}

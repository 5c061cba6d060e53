// SPDX-License-Identifier: Apache-2.0

import {get, path} from './api.js';
import {answered, askCard, askKeeper} from './ask.js';
import {setNow} from './clock.js';
import {el, keyed} from './dom.js';

// inbox shows what waits for the person.
export function inbox({namespace, say}) {
  const list = el('div', {class: 'cards'});
  const empty = el('p', {class: 'empty', hidden: true}, 'Nothing waits for you.');
  const others = el('input', {type: 'checkbox', id: 'others', change: () => show()});
  const count = el('span', {});
  const toggle = el('p', {hidden: true}, others, ' ', el('label', {for: 'others'}, 'Also what others have to answer ', count));
  const skills = el('div', {class: 'cards'});
  const more = el('p', {class: 'note', hidden: true});
  // Skills change seldom, and a list of them can be large: it is not read anew with each change of a run.
  let items = [], waiting = [], stale = true, read = 0;
  const sent = (card) => {
    // The next ask takes the focus that the form of this one had.
    const next = card.nextElementSibling ?? card.previousElementSibling ?? document.getElementById('main');
    card.remove();
    next.focus();
  };
  const show = () => {
    const mine = items.filter((a) => a.may || others.checked);
    keyed(list, mine, {...askKeeper, render: (a) => askCard(a, {say, sent})});
    keyed(skills, waiting, {key: (s) => s.uid, render: (s) => el('article', {class: 'card'},
      el('h2', {}, el('a', {href: `#/skills/${path(s.namespace, s.name)}`}, s.name), ' ', el('span', {class: 'badge'}, 'skill')),
      el('p', {class: 'meta'}, `${s.namespace} · waits for ${s.waitsFor.join('; ')}`))});
    empty.hidden = mine.length > 0 || waiting.length > 0;
    const hidden = items.filter((a) => !a.may).length;
    toggle.hidden = hidden === 0;
    count.textContent = `(${hidden})`;
  };
  return {
    title: 'Inbox',
    node: el('div', {}, el('h1', {}, 'Inbox'), toggle, empty, list, skills, more),
    pause: 1000,
    needs: ['MotorRun'],
    wants: (c) => {
      stale ||= c.kind === 'skill';
      return c.kind === 'run' || c.kind === 'skill';
    },
    async load() {
      if (stale || Date.now() - read > 15000) {
        stale = false;
        waiting = (await get('waiting-skills', {namespace})).items;
        read = Date.now();
        // People who decide about skills may have no right to read what runs ask.
        if (waiting.length > 0) show();
      }
      const answer = await get('inbox', {namespace});
      setNow(answer.now);
      items = answer.items.filter((a) => !answered.has(askKeeper.key(a)));
      more.hidden = !answer.more && !answer.left;
      more.textContent = answer.left ? 'There may be more than the server reads at once: choose a namespace.' : `${answer.more} more are not shown: choose a namespace.`;
      show();
    },
  };
}

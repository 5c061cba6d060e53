// SPDX-License-Identifier: Apache-2.0

import {get} from './api.js';
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
  const more = el('p', {class: 'note', hidden: true});
  let items = [];
  const sent = (card) => {
    // The next ask takes the focus that the form of this one had.
    const next = card.nextElementSibling ?? card.previousElementSibling ?? document.getElementById('main');
    card.remove();
    next.focus();
  };
  const show = () => {
    const mine = items.filter((a) => a.may || others.checked);
    keyed(list, mine, {...askKeeper, render: (a) => askCard(a, {say, sent})});
    empty.hidden = mine.length > 0;
    const hidden = items.filter((a) => !a.may).length;
    toggle.hidden = hidden === 0;
    count.textContent = `(${hidden})`;
  };
  return {
    title: 'Inbox',
    node: el('div', {}, el('h1', {}, 'Inbox'), toggle, empty, list, more),
    pause: 1000,
    needs: ['MotorRun'],
    wants: (c) => c.kind === 'run',
    async load() {
      const answer = await get('inbox', {namespace});
      setNow(answer.now);
      items = answer.items.filter((a) => !answered.has(askKeeper.key(a)));
      more.hidden = !answer.more && !answer.left;
      more.textContent = answer.left ? 'There may be more than the server reads at once: choose a namespace.' : `${answer.more} more are not shown: choose a namespace.`;
      show();
    },
  };
}

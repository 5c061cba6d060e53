// SPDX-License-Identifier: Apache-2.0

import {path, post} from './api.js';
import {when} from './clock.js';
import {diff, el, foreign, unique} from './dom.js';

const afterwards = {Fail: 'the run fails', Deny: 'it counts as denied', UseDefault: 'the answer of the model counts'};

// call shows the parts of a tool call whole.
export function call(parts) {
  return parts.map((p) => {
    const title = p.raw ? 'Arguments, as the model wrote them' : p.diff ? `Change of ${p.name}` : `${p.name} ${p.end ?? ''}`;
    return el('div', {class: 'part'}, el('div', {class: 'part-name'}, title), p.diff ? diff(p.text) : foreign(p.text, 'exact'));
  });
}

function action(a) {
  return el('div', {class: 'action'},
    el('p', {}, a.check ? 'This call is a command of spec.accept: ' : 'The model wants to make this call: ', el('strong', {}, a.tool ?? ''), a.size && ` (${a.size})`),
    a.parts && call(a.parts),
    a.problem && el('p', {class: 'bad', role: 'alert'}, a.problem),
    a.reason && el('p', {class: 'why'}, 'Because of: ', el('code', {}, a.reason)),
    a.digest && el('p', {class: 'digest'}, 'Digest: ', el('code', {}, a.digest)));
}

// radio is one of the answers that a person chooses from.
function radio(name, value, label, effect, more) {
  const id = unique('choice'), about = unique('effect');
  return el('div', {class: 'choice'},
    el('input', {type: 'radio', name, id, value, 'aria-describedby': effect && about, ...more}),
    el('label', {for: id}, label),
    effect && el('p', {id: about, class: 'effect'}, effect));
}

function field(label, rows, more) {
  const id = unique('text');
  const area = rows > 1 ? el('textarea', {id, rows, ...more}) : el('input', {id, type: 'text', ...more});
  return {area, node: el('div', {class: 'field', hidden: true}, el('label', {for: id}, label), area)};
}

// The bounds of the API.
const mostFiles = 8, mostBytes = 128 * 1024;

// attachment is the field for files that go with an answer.
function attachment() {
  const id = unique('files'), about = unique('effect');
  const input = el('input', {type: 'file', id, multiple: true, 'aria-describedby': about});
  const node = el('div', {class: 'field'}, el('label', {for: id}, 'Files to go with it (optional)'), input,
    el('p', {id: about, class: 'effect'}, `They come into the folder answers of the run. At most ${mostFiles}, of 128 KiB each.`));
  return {input, node};
}

// contentOf is a file in base64.
function contentOf(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read: ${reader.error.message}`));
    reader.readAsDataURL(file);
  });
}

// sentFiles are the files of an attachment as the server takes them.
async function sentFiles(list) {
  if (list.length > mostFiles) throw new Error(`An answer has at most ${mostFiles} files. Nothing was sent.`);
  const large = list.find((f) => f.size > mostBytes);
  if (large) throw new Error(`${large.name} has ${large.size} bytes, and a file may have ${mostBytes}. Nothing was sent.`);
  return Promise.all(list.map(async (f) => ({path: f.name, content: await contentOf(f)})));
}

// answerForm is the form of an ask. Nothing is chosen in it from the start.
function answerForm(ask, {say, sent}) {
  const name = unique('decision');
  const question = ask.kind === 'Question';
  const words = field(question ? 'Your answer' : 'Reason (the model reads it)', 3, {maxlength: question ? 16384 : 2048});
  const domains = field('Hosts that it may reach as well, separated by spaces (optional)', 1, {autocomplete: 'off', spellcheck: 'false'});
  const files = question ? attachment() : null;
  const chosenFiles = () => [...(files?.input.files ?? [])];
  const send = el('button', {type: 'submit', disabled: true}, 'Send');
  const legend = question ? 'Answer' : 'Decide';
  const choices = question
    ? [...(ask.options ?? []).map((o, i) => radio(name, `${i + 1}`, foreign(o), o === ask.default && 'The model would choose this.')),
      radio(name, '0', 'In your own words', null, {checked: !ask.options?.length})]
    : ask.choices.map((c) => radio(name, c.decision, c.label, c.effect,
      {disabled: Boolean(ask.action?.problem) && c.decision !== 'Deny'}));
  const chosen = () => form.elements[name]?.value ?? '';
  const offer = () => ask.choices.find((c) => c.decision === chosen());
  const update = () => {
    const value = chosen();
    words.node.hidden = question ? value !== '0' : !offer()?.words;
    if (!question) words.node.firstChild.textContent = offer()?.words === 'guidance' ? 'Guidance: what to do differently (optional)' : 'Reason (optional; the model reads it)';
    domains.node.hidden = !offer()?.domains;
    send.disabled = form.gone || value === '' || question && value === '0' && words.area.value.trim() === '' && chosenFiles().length === 0;
    send.textContent = offer() ? `Send: ${offer().label}` : 'Send';
  };
  const body = async () => {
    const b = {uid: ask.uid, seen: ask.seen};
    const value = chosen(), text = words.area.value;
    if (question) {
      if (chosenFiles().length) b.files = await sentFiles(chosenFiles());
      return value !== '0' ? {...b, option: Number(value)} : text.trim() ? {...b, answer: text} : b;
    }
    b.decision = value;
    if (ask.action) b.digest = ask.action.digest;
    if (text.trim() && offer().words) b[offer().words] = text;
    if (offer().domains && domains.area.value.trim()) b.domains = domains.area.value.trim().split(/[\s,]+/);
    return b;
  };
  const form = el('form', {
    class: 'answer', change: update, input: update,
    submit: async (e) => {
      e.preventDefault();
      if (send.disabled) return;
      form.sending = true;
      send.disabled = true;
      try {
        const done = await post(`runs/${path(ask.namespace, ask.run, 'asks', ask.id)}`, await body());
        form.reset();
        form.sending = false;
        answered.add(askKeeper.key(ask));
        say(`${ask.run}: ${done.sent} was sent.`);
        sent(form.closest('article'));
      } catch (problem) {
        form.sending = false;
        update();
        say(problem.message, true);
      }
    },
  }, el('fieldset', {}, el('legend', {}, legend), choices), words.node, files?.node, domains.node, send);
  form.written = () => form.sending || words.area.value !== '' || domains.area.value !== '' || chosenFiles().length > 0;
  form.end = () => {
    form.gone = true;
    update();
  };
  update();
  return form;
}

// askCard shows an ask with everything that a person decides about, and the form that answers it.
export function askCard(ask, tools) {
  const title = unique('ask');
  const run = `#/runs/${path(ask.namespace, ask.run)}`;
  const form = ask.may && (ask.kind === 'Question' || ask.choices.length) ? answerForm(ask, tools) : null;
  const card = el('article', {class: 'card ask', 'aria-labelledby': title, tabindex: '-1'},
    el('header', {},
      el('h2', {id: title}, el('span', {class: `badge ${ask.kind.toLowerCase()}`}, ask.word), ' ', el('a', {href: run}, ask.run)),
      el('p', {class: 'meta'}, ask.namespace,
        ask.requester && ` · for ${ask.requester}`,
        ask.attempt && ` · attempt ${ask.attempt}`,
        ask.asked && [' · asked ', when(ask.asked)],
        ask.expires && [' · expires ', when(ask.expires), afterwards[ask.onTimeout] && `, then ${afterwards[ask.onTimeout]}`])),
    ask.action ? action(ask.action) : foreign(ask.question),
    ask.files?.length > 0 && el('div', {}, el('p', {}, 'The model wants these files:'), el('ul', {}, ask.files.map((f) => el('li', {}, foreign(f))))),
    ask.default && !(ask.options ?? []).includes(ask.default) && el('div', {}, el('p', {}, 'The model would choose:'), foreign(ask.default)),
    ask.reaches?.length > 0 && el('p', {class: 'meta'}, `The run reaches: ${ask.reaches.join(', ')}`),
    ask.credentials?.length > 0 && el('p', {class: 'meta'}, `It has the credentials: ${ask.credentials.join(', ')}`),
    form,
    !ask.may && el('p', {class: 'note'}, `You may not answer this. Have the ClusterRole ${ask.role} bound to you in the namespace ${ask.namespace}.`),
    ask.may && !form && el('p', {class: 'note'}, 'This page does not know how to answer this: the operator is of a later version.'));
  card.form = form;
  return card;
}

// answered are the asks that were answered here: a list that was asked for before may still have them.
export const answered = new Set();

// askKeeper says how the cards of asks stay while a person writes in them.
export const askKeeper = {
  key: (a) => `${a.namespace}/${a.run}/${a.uid}/${a.id}`,
  busy: (card) => Boolean(card.form) && (card.form.written() || card.form.contains(document.activeElement)),
  stale: (card, item) => {
    // Only a deadline moved: what the person sees is the same.
    if (item && JSON.parse(card.shows).seen === item.seen) return;
    if (card.form.gone || card.form.sending) return;
    card.form.end();
    card.append(el('p', {class: 'bad', role: 'alert'}, item ? 'This ask or its run changed: look at it again.' : 'This is not asked any more. Your words were not sent.'));
  },
};

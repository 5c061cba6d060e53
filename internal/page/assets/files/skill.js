// SPDX-License-Identifier: Apache-2.0

import {get, path, post} from './api.js';
import {when} from './clock.js';
import {diff, el, foreign, keyed, unique} from './dom.js';

const list = (title, facts) => facts?.length > 0 && el('div', {}, el('h3', {}, title),
  el('ul', {}, facts.map((f) => el('li', {}, el('strong', {}, f.kind), ' ', f.text, f.where && [' · ', el('code', {}, f.where)]))));

// file shows a file, and how it differs from that of the base when it is opened.
function file(f, s) {
  const inside = el('div', {class: 'inside'});
  const details = el('details', {toggle: async () => {
    if (!details.open || inside.firstChild) return;
    try {
      const d = await get(`skills/${path(s.namespace, s.name, 'diff')}`, {revision: s.revision, base: s.base, path: f.raw});
      inside.replaceChildren(...el('div', {},
        d.wasProgram !== d.program && f.change === 'changed' && el('p', {}, d.program ? 'It is a program now.' : 'It is no program any more.'),
        d.note && el('p', {}, d.note), d.diff && diff(d.diff), !d.note && !d.diff && el('p', {}, 'Nothing changed in it.')).childNodes);
    } catch (e) {
      inside.replaceChildren(el('p', {class: 'bad'}, e.message));
    }
  }}, el('summary', {}, el('code', {}, f.path), ` ${f.size.toLocaleString()} bytes `, f.program && el('span', {class: 'badge'}, 'program'), ' ',
    f.change && el('span', {class: `badge ${f.change}`}, f.change)), inside);
  return el('li', {}, details);
}

// verdict is the form with which a person approves or rejects what they were shown.
function verdict(s, {say, reload}) {
  const id = unique('note'), name = unique('verdict');
  const note = el('textarea', {id, rows: 2, maxlength: 1024});
  const offers = [
    ['approve', 'Approve', `Runs may use exactly the files of ${s.revision} with exactly this policy.`, Boolean(s.problem || s.unreadable)],
    ['reject', 'Reject', `The files of ${s.revision} are not proposed again. An approval that there is stays.`, s.rejected],
  ];
  const send = el('button', {type: 'submit', disabled: true}, 'Send');
  const update = () => {
    const value = form.elements[name].value;
    send.disabled = form.gone || !value;
    send.textContent = value ? `Send: ${offers.find(([v]) => v === value)[1]}` : 'Send';
  };
  const form = el('form', {class: 'answer', change: update, submit: async (e) => {
    e.preventDefault();
    send.disabled = form.sending = true;
    try {
      const body = {uid: s.uid, revision: s.revision, contentHash: s.contentHash, policyHash: s.policyHash, seen: s.seen, note: note.value};
      const done = await post(`skills/${path(s.namespace, s.name, form.elements[name].value)}`, body);
      note.value = '';
      form.sending = false;
      say(`${s.name}: ${done.sent}.`);
      document.getElementById('main').focus();
      reload();
    } catch (problem) {
      form.sending = false;
      update();
      say(problem.message, true);
    }
  }}, s.unreadable && el('p', {class: 'bad'}, s.unreadable), el('fieldset', {}, el('legend', {}, 'Decide'), offers.map(([value, label, effect, off]) => {
    const choice = unique('choice'), about = unique('effect');
    return el('div', {class: 'choice'}, el('input', {type: 'radio', name, id: choice, value, disabled: off, 'aria-describedby': about}),
      el('label', {for: choice}, label), el('p', {id: about, class: 'effect'}, effect));
  })), el('div', {class: 'field'}, el('label', {for: id}, 'Note (optional)'), note), send);
  form.written = () => form.sending || note.value !== '';
  form.end = () => {
    form.gone = true;
    update();
  };
  return form;
}

function review(s, tools) {
  // Against another revision than the approved one, a change can look like none: a link to such a comparison must not lead to a decision.
  const aside = Boolean(s.base) && s.base !== s.approved?.revision;
  const form = s.mayApprove && !aside ? verdict(s, tools) : null;
  const node = el('div', {},
    el('p', {}, el('span', {class: `badge ${s.state.toLowerCase()}`}, s.state), ` ${s.namespace} · ${s.runs} runs`, s.successRate && `, ${s.successRate} succeeded`),
    s.message && foreign(s.message), s.description && foreign(s.description),
    el('dl', {class: 'facts'},
      el('dt', {}, 'Revision'), el('dd', {}, el('code', {}, s.revision)),
      el('dt', {}, 'Content'), el('dd', {}, el('code', {}, s.contentHash)),
      el('dt', {}, 'Policy'), el('dd', {}, el('code', {}, s.policyHash)),
      s.origin && [el('dt', {}, 'From'), el('dd', {}, s.origin)],
      s.from && [el('dt', {}, 'Written by the run'), el('dd', {}, s.from.run)],
      s.approved && [el('dt', {}, 'Approved'), el('dd', {}, el('code', {}, s.approved.revision), s.approved.by && ` by ${s.approved.by}`, s.approved.note && `: ${s.approved.note}`,
        s.approved.samePolicy ? '' : '. The policy was another one.')]),
    s.from?.sources?.length > 0 && el('div', {}, el('h3', {}, 'The run fetched before'), el('ul', {}, s.from.sources.map((u) => el('li', {}, el('code', {}, u))))),
    el('section', {class: 'card'}, el('h2', {}, 'Policy'), s.problem && el('p', {class: 'bad'}, s.problem),
      s.policy.trim() === '{}' ? el('p', {}, 'It grants nothing.') : foreign(s.policy, 'exact')),
    el('section', {class: 'card'}, el('h2', {}, 'Facts'),
      !s.reviewed && el('p', {class: 'note'}, 'The operator has not looked through the files.'),
      list('Files mention, and the policy does not grant', s.missing), list('The policy grants, and no file mentions', s.unused), list('Findings', s.findings),
      s.omitted > 0 && el('p', {}, `${s.omitted} more were only counted.`),
      s.reviewed && !s.missing && !s.unused && !s.findings && el('p', {}, 'Nothing was found. Patterns miss what is hidden well.'),
      s.advice?.map((a) => el('div', {}, el('h3', {}, `A model said in the run ${a.run}, which the files may have told it to`), foreign(a.text)))),
    el('section', {class: 'card'}, el('h2', {}, s.base ? `Files, against ${aside ? '' : 'the approved '}${s.base}` : 'Files'),
      aside && el('p', {class: 'note'}, `${s.base} is not the approved revision. `,
        el('a', {href: `#/skills/${path(s.namespace, s.name, s.revision)}`}, s.approved ? 'Compare with the approved one' : 'Show all files'), ' to decide.'),
      s.unreadable && el('p', {class: 'bad'}, s.unreadable),
      !s.base && el('p', {class: 'meta'}, 'Nothing was approved yet, so all of it is new.'), el('ul', {class: 'files'}, s.files.map((f) => file(f, s)))),
    s.revisions.length > 1 && el('section', {class: 'card'}, el('h2', {}, 'Revisions'), el('ul', {}, s.revisions.map((r) => el('li', {},
      el('a', {href: `#/skills/${path(s.namespace, s.name, r.name)}`, 'aria-current': r.name === s.revision && 'true'}, r.name), r.created && [' ', when(r.created)], r.run && ` · run ${r.run}`,
      r.name !== s.revision && r.name !== s.base && [' · ', el('a', {href: `#/skills/${path(s.namespace, s.name, s.revision, r.name)}`, 'aria-label': `Compare with ${r.name}`}, 'compare')])))),
    !aside && el('section', {class: 'card'}, form ?? el('p', {class: 'note'}, `You may not decide about it. Have the ClusterRole ${s.approverRole} bound to you in the namespace ${s.namespace}.`)));
  node.form = form;
  return node;
}

// skill shows a skill as a person reviews it.
export function skill({namespace, name, revision, base, say, reload}) {
  const top = el('div');
  return {
    title: name,
    pause: 1000,
    node: el('div', {}, el('h1', {}, name), top),
    needs: ['Skill'],
    wants: (c) => c.kind === 'skill' && c.namespace === namespace && c.name === name,
    async load() {
      const {skill: s} = await get(`skills/${path(namespace, name)}`, {revision, base});
      keyed(top, [s], {
        key: () => 'skill', render: (item) => review(item, {say, reload}),
        busy: (node) => Boolean(node.form?.written()),
        stale: (node, item) => {
          // How often it was used changes nothing of what is decided about.
          const decided = (v) => JSON.stringify([v.revision, v.contentHash, v.policyHash, v.seen]);
          if (node.form.gone || node.form.sending || decided(JSON.parse(node.shows)) === decided(item)) return;
          node.form.end();
          node.form.append(el('p', {class: 'bad', role: 'alert'}, 'The skill has changed since you were shown it. Reload this page to look at it again.'));
        },
      });
    },
  };
}

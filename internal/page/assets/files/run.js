// SPDX-License-Identifier: Apache-2.0

import {get, path} from './api.js';
import {answered, askCard, askKeeper, call} from './ask.js';
import {setNow, took, when} from './clock.js';
import {el, foreign, keyed} from './dom.js';

const marks = {ok: 'ok', failed: 'failed', open: 'runs', unknown: 'unknown outcome'};

function failure(f) {
  return el('div', {class: 'failure'}, el('strong', {}, f.reason), f.category && ` (${f.category})`,
    f.message && foreign(f.message), f.hint && el('div', {}, 'A model guesses:', foreign(f.hint)));
}

// whole shows a step with arguments and output.
function whole(s) {
  return [
    s.content && el('div', {}, el('h4', {}, 'The model said'), foreign(s.content)),
    s.whole.map((c) => el('section', {class: 'whole'},
      el('h4', {}, `${c.tool} `, el('span', {class: `badge ${c.state}`}, marks[c.state]), c.code && ` ${c.code}`),
      call(c.parts),
      c.output && el('div', {}, el('div', {class: 'part-name'}, c.web ? 'Output, from the web: not to be trusted' : 'Output'),
        el('div', {class: 'output', tabindex: '0', role: 'group', 'aria-label': 'Output'}, foreign(c.output, 'exact'))),
      c.outputFile && el('p', {class: 'meta'}, `The whole output is in the workspace: ${c.outputFile}`))),
    s.value && el('div', {}, el('h4', {}, 'Value'), foreign(s.value, 'exact')),
  ];
}

function stepItem(s, run, was) {
  const inside = el('div', {class: 'inside'});
  const open = async () => {
    if (!details.open) return;
    try {
      const {step} = await get(`runs/${path(run.namespace, run.name, 'steps', s.name)}`);
      inside.replaceChildren(...el('div', {}, whole(step)).childNodes);
    } catch (e) {
      inside.replaceChildren(el('p', {class: 'bad'}, e.message));
    }
  };
  const kinds = {Summary: 'summary of earlier steps', Outcome: 'the attempt failed', Outage: 'the model cannot be had'};
  const details = el('details', {open: Boolean(was?.querySelector('details')?.open), toggle: open},
    el('summary', {},
      el('span', {class: 'index'}, `${s.index}`), ' ',
      kinds[s.type] && el('strong', {}, kinds[s.type]),
      s.calls?.map((c) => el('span', {class: 'call'}, el('code', {}, c.tool), ' ', el('span', {class: 'brief'}, c.brief), ' ',
        el('span', {class: `badge ${c.state}`}, marks[c.state]), c.code && ` ${c.code}`, c.web && ' · from the web')),
      s.says && el('span', {class: 'says'}, s.says)),
    inside);
  return el('li', {class: 'step'}, details,
    el('p', {class: 'meta'}, when(s.at), s.modelMS > 0 && ` · model ${took(s.modelMS)}`, s.toolMS > 0 && ` · tools ${took(s.toolMS)}`,
      s.waitMS > 0 && ` · people ${took(s.waitMS)}`, s.tokens > 0 && ` · ${s.tokens.toLocaleString()} tokens`, s.cost && ` · ${s.cost}`),
    s.asks?.map((a) => el('p', {class: 'meta'}, `${a.word}: ${a.outcome}`, a.by && ` by ${a.by}`, a.reason && `: ${a.reason}`)),
    s.failure && failure(s.failure));
}

// times shows how an attempt spent its time.
function times(a) {
  const all = [['model', 'Model', a.modelMS], ['tool', 'Tools', a.toolMS], ['people', 'Waiting for people', a.waitMS]];
  const sum = all.reduce((n, [, , ms]) => n + ms, 0);
  if (!sum) return null;
  return el('div', {class: 'times'},
    el('div', {class: 'bar', 'aria-hidden': 'true'}, all.map(([c, , ms]) => el('span', {class: c, style: {width: `${100 * ms / sum}%`}}))),
    el('p', {class: 'meta'}, all.map(([c, word, ms]) => el('span', {class: 'legend'}, el('span', {class: `dot ${c}`, 'aria-hidden': 'true'}), `${word} ${took(ms)} `))));
}

function attempt(a, run, was) {
  const steps = was?.querySelector('ol') ?? el('ol', {class: 'steps'});
  keyed(steps, a.steps, {key: (s) => s.name, render: (s, old) => stepItem(s, run, old)});
  return el('section', {class: 'attempt'},
    el('h3', {}, `Attempt ${a.index}`),
    el('p', {class: 'meta'}, a.cause && `${a.cause} · `, a.started && ['began ', when(a.started)], a.completed && [' · ended ', when(a.completed)], ` · ${a.tokens.toLocaleString()} tokens`, a.cost && ` · ${a.cost}`),
    times(a), a.failure && failure(a.failure), steps,
    a.steps.length === 0 && el('p', {class: 'empty'}, 'No steps.'));
}

function facts(r) {
  const rows = [['Asked for by', r.requester], ['Skill', r.skill], ['Model', r.model], ['Tools', r.tools?.join(', ')], ['Reaches', r.domains?.join(', ')],
    ['Credentials', r.credentials?.join(', ')], ['Spent', `${r.steps} steps, ${r.tokens.toLocaleString()} tokens${r.cost ? `, ${r.cost}` : ''}`]];
  return el('dl', {class: 'facts'}, rows.filter(([, v]) => v).map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));
}

function overview(r) {
  return el('div', {},
    el('p', {}, el('span', {class: `badge ${r.state}`}, r.state), ' ', r.reason, ' · ', r.namespace, ' · created ', when(r.created), r.completed && [' · ended ', when(r.completed)]),
    r.message && foreign(r.message),
    r.wholeTask && el('details', {open: true}, el('summary', {}, 'Task'), foreign(r.wholeTask)),
    facts(r),
    r.result && el('section', {class: 'card'}, el('h2', {}, 'Result'),
      r.result.summary && foreign(r.result.summary), r.result.partial && [el('h3', {}, 'Partial'), foreign(r.result.partial)],
      r.result.value && [el('h3', {}, 'Value'), foreign(r.result.value, 'exact')],
      r.result.artifacts && [el('h3', {}, 'Artifacts'), el('ul', {}, r.result.artifacts.map((f) => el('li', {}, el('code', {}, f.path), ` ${f.size.toLocaleString()} bytes · ${f.where}`)))]),
    r.note && el('p', {class: 'note'}, r.note));
}

// run shows one run with what it asks, its result and its attempts side by side.
export function run({namespace, name, say}) {
  const top = el('div'), asks = el('div', {class: 'cards'});
  const attempts = el('div', {class: 'attempts', tabindex: '0', role: 'group', 'aria-label': 'Attempts'});
  const sent = (card) => {
    card.remove();
    document.getElementById('main').focus();
  };
  return {
    title: name,
    pause: 1000,
    node: el('div', {}, el('h1', {}, name), asks, top, el('h2', {}, 'Timeline'), attempts),
    needs: ['MotorRun', 'MotorStep'],
    wants: (c) => c.kind === 'run' && c.namespace === namespace && c.name === name,
    async load() {
      const answer = await get(`runs/${path(namespace, name)}`);
      setNow(answer.now);
      const r = answer.run;
      const {attempts: list, asks: open, ...head} = r;
      keyed(top, [head], {key: () => 'top', render: overview});
      keyed(asks, open.filter((a) => !answered.has(askKeeper.key(a))), {...askKeeper, render: (a) => askCard(a, {say, sent})});
      keyed(attempts, list, {key: (a) => `${a.index}`, render: (a, old) => attempt(a, r, old)});
    },
  };
}

// SPDX-License-Identifier: Apache-2.0

import {stream} from './api.js';

const longest = 1 << 20;

// follow calls told with each list of changes until the signal ends it, and stands with why there are none, or ''. A stream that broke begins anew.
export async function follow(namespace, signal, told, stands) {
  for (let pause = 1000; !signal.aborted; pause = Math.min(2 * pause, 15000)) {
    try {
      const answer = await stream(namespace, signal);
      stands('');
      await read(answer.body.getReader(), (changes) => {
        pause = 1000;
        told(changes);
      });
      stands('Connecting again…');
    } catch (e) {
      if (signal.aborted) return;
      stands(e.message, e.status);
      if (e.status === 401) return;
    }
    await new Promise((done) => {
      const timer = setTimeout(done, pause);
      signal.addEventListener('abort', () => (clearTimeout(timer), done()), {once: true});
    });
  }
}

async function read(reader, told) {
  const decoder = new TextDecoder();
  for (let text = ''; ;) {
    const {value, done} = await reader.read();
    if (done) return;
    text += decoder.decode(value, {stream: true});
    const events = text.split('\n\n');
    text = events.pop();
    if (text.length > longest) throw new Error('The server sent too much at once.');
    for (const event of events) if (event.startsWith('data: ')) told(JSON.parse(event.slice(6)));
  }
}

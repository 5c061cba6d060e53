// SPDX-License-Identifier: Apache-2.0

import {el} from './dom.js';

// ahead is how far the server's clock is ahead of the browser's, in milliseconds.
let ahead = 0;

// setNow sets the clock by an answer of the server.
export function setNow(now) {
  if (now) ahead = Date.parse(now) - Date.now();
}

const units = [[86400, 'd'], [3600, 'h'], [60, 'm'], [1, 's']];

function span(seconds) {
  for (const [size, unit] of units) if (seconds >= 2 * size || size === 1) return `${Math.floor(seconds / size)}${unit}`;
  return '';
}

function relative(instant) {
  const seconds = (Date.parse(instant) - Date.now() - ahead) / 1000;
  return seconds > 0 ? `in ${span(seconds)}` : `${span(-seconds)} ago`;
}

// when shows an instant by how far away it is, and keeps that true.
export function when(instant) {
  return el('time', {datetime: instant, title: new Date(instant).toLocaleString()}, relative(instant));
}

setInterval(() => {
  for (const t of document.querySelectorAll('time')) {
    const text = relative(t.dateTime);
    if (t.textContent !== text) t.textContent = text;
  }
}, 5000);

// took shows a duration in milliseconds.
export function took(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60000);
  return minutes < 60 ? `${minutes} min ${Math.floor(ms / 1000) % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

import test from 'node:test';
import assert from 'node:assert/strict';
import {render} from '../src/template.js';

test('values are escaped', () => {
  assert.equal(render('Hello {{ user.name }}!{{nothing.at.all}}', {user: {name: '<b>'}}), 'Hello &lt;b&gt;!');
});

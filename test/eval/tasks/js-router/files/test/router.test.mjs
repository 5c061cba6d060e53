import test from 'node:test';
import assert from 'node:assert/strict';
import {Router} from '../src/router.js';

test('plain routes', () => {
  const r = new Router().add('/', 'home').add('/users/:id', 'user');
  assert.equal(r.match('/').name, 'home');
  assert.deepEqual(r.match('/users/7/'), {name: 'user', params: {id: '7'}, query: {}});
  assert.equal(r.match('/nothing'), null);
});

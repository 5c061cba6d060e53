// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import {pathToFileURL} from 'node:url';
const {Router} = await import(pathToFileURL(process.cwd() + '/src/router.js'));
for (const order of [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]]) {
  const routes = ['/users/new', '/users/:id', '/*', '/:kind/new'];
  const r = new Router();
  for (const i of order) r.add(routes[i], routes[i]);
  assert.equal(r.match('/users/new').name, '/users/new');
  assert.equal(r.match('/users/7').name, '/users/:id');
  assert.equal(r.match('/cars/new').name, '/:kind/new');
  assert.equal(r.match('/a/b/c').name, '/*');
  assert.equal(r.match('/'), null);
}
const f = new Router().add('/files/:name', 'file').add('/static/*', 'static').add('/files/:name/*', 'deep');
assert.deepEqual({...f.match('/files/a%2Fb').params}, {name: 'a/b'});
assert.equal(f.match('/files/%zz'), null);
assert.equal(f.match('/static'), null);
assert.equal(f.match('/static/'), null);
assert.deepEqual({...f.match('/static/css/a%20b.css').params}, {'*': 'css/a b.css'});
assert.deepEqual({...f.match('/files/x/y/z').params}, {name: 'x', '*': 'y/z'});
assert.deepEqual({...f.match('/files/a?q=a+b&q=c&x=1%3D2&y').query}, {q: ['a b', 'c'], x: '1=2', y: ''});
assert.deepEqual({...f.match('/files/a?q=1&q=2&q=3&k=a=b').query}, {q: ['1', '2', '3'], k: 'a=b'});

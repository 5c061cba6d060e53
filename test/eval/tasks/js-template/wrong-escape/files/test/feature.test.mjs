import test from 'node:test';
import assert from 'node:assert/strict';
import {render} from '../src/template.js';

test('loops', () => assert.equal(render('{{#each l}}{{this}}{{/each}}', {l: [1, 2]}), '12'));

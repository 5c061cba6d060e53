// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { argsDigest } from "../src/index.js";

interface Vector {
  tool: string;
  arguments: string;
  digest: string;
}

// The vectors are made by a test of the operator.
test("digests are those of the operator", () => {
  const vectors = JSON.parse(readFileSync(process.env.VECTORS ?? "../testdata/digests.json", "utf8")) as Vector[];
  assert.ok(vectors.length > 20);
  for (const vector of vectors) {
    assert.equal(argsDigest(vector.tool, vector.arguments), vector.digest, vector.arguments.slice(0, 60));
  }
});

test("what is nested too deeply is digested as a text", () => {
  const nested = (containers: number, space: string): string => `{"a":${space}${"[".repeat(containers - 1)}${"]".repeat(containers - 1)}}`;
  assert.equal(argsDigest("bash", nested(1000, "")), argsDigest("bash", nested(1000, " ")));
  assert.notEqual(argsDigest("bash", nested(1001, "")), argsDigest("bash", nested(1001, " ")));
  assert.match(argsDigest("bash", "[".repeat(1_000_000)), /^sha256:/);
  assert.match(argsDigest("bash", '{"a":"' + "x".repeat(1_000_000)), /^sha256:/);
});

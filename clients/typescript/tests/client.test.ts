// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  AlreadyAnswered, argsDigest, type AskRef, BusyError, Client, Gone, MotorCortexError, type MotorRun, NotAsked, NotFound, Refused, Timeout, Unreadable,
} from "../src/index.js";
import { type Change, Failure, type Told, type Transport } from "../src/transport.js";

/** A result of a request: an error is thrown, and a function is called. */
type Played = unknown;

/** An API server that is played. Each list of results is used up to its last one, which stays. */
class Rig implements Transport {
  now = 0;
  gets: Played[] = [];
  steps: Played[] = [];
  cortices: Played[] = [new Failure(404, "there is none")];
  lists: Played[] = [];
  patches: Played[] = [{}];
  streams: Played[][] = [];
  readonly sent: (readonly Change[])[] = [];
  readonly bodies: any[] = [];
  readonly tokens: string[] = [];
  readonly client = new Client("ns", {
    transport: this,
    clock: {
      now: () => this.now,
      sleep: async (milliseconds) => {
        this.now += milliseconds;
      },
    },
  });

  async get(plural: string): Promise<unknown> {
    return play(plural === "motorruns" ? this.gets : plural === "motorsteps" ? this.steps : this.cortices);
  }

  async list(_plural: string, _limit: number, token: string): Promise<unknown> {
    this.tokens.push(token);
    return play(this.lists);
  }

  async create(_plural: string, body: object): Promise<unknown> {
    this.bodies.push(body);
    return play(this.gets);
  }

  async patch(_plural: string, _name: string, changes: readonly Change[]): Promise<unknown> {
    this.sent.push(changes);
    return play(this.patches);
  }

  async watch(_plural: string, _name: string, _version: string, _seconds: number, tell: Told, signal: AbortSignal): Promise<void> {
    for (const event of this.streams.shift() ?? []) {
      if (event instanceof Error) {
        throw event;
      }
      if (signal.aborted) {
        return;
      }
      const typed = event as { type?: string; object?: unknown };
      tell(typed.type ?? "MODIFIED", typed.type ? typed.object : event);
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.now += 10_000;
  }

  async types(limits: object = {}): Promise<string[]> {
    const types = [];
    for await (const event of this.client.watch("a", limits)) {
      types.push(event.type);
    }
    return types;
  }
}

function play(results: Played[]): unknown {
  const result = results.length > 1 ? results.shift() : results[0];
  if (result instanceof Error) {
    throw result;
  }
  return result;
}

function rig(...gets: Played[]): Rig {
  const r = new Rig();
  r.gets = gets;
  return r;
}

function aRun(inputs: object[] = [], status: object = {}, uid = "u", responses: object[] = []): MotorRun {
  return {
    metadata: { name: "a", uid, resourceVersion: "1" },
    spec: { task: "x", responses },
    status: { phase: "Running", reason: "Running", pendingInputs: inputs, ...status },
  } as unknown as MotorRun;
}

const about = (id: string, uid = "u"): AskRef => ({ run: "a", uid, id });
const question = { id: "q", kind: "Question", question: "Which?" };
const args = '{"command":"ls"}';
const digest = argsDigest("bash", args);
const approval = { id: "p", kind: "Approval", stepName: "s", action: { tool: "bash", arguments: args, argsDigest: digest } };
const answered = aRun([question], {}, "u", [{ id: "q", answer: "red", respondedBy: "dana" }]);
const done = aRun([], { completionTime: "t", reason: "Completed" });
const conflict = new Failure(422, "the server rejected our request");

test("an answer names the run and the ask", async () => {
  const r = rig(aRun([{ id: "other", kind: "Retry" }, question]));
  await r.client.answer(about("q"), "blue");
  assert.deepEqual(r.sent, [
    [
      { op: "test", path: "/metadata/uid", value: "u" },
      { op: "test", path: "/status/pendingInputs/1/id", value: "q" },
      { op: "add", path: "/spec/responses/-", value: { id: "q", answer: "blue" } },
    ],
  ]);
});

test("another run of that name, which asks under the same id, gets no answer", async () => {
  const retry = { id: "retry-1", kind: "Retry" };
  const r = rig(aRun([retry], {}, "v"));
  const shown = r.client.asks(aRun([retry]))[0]!;
  await assert.rejects(r.client.retry(shown), { name: "Gone", message: /another one of its name/ });
  await assert.rejects(r.client.stop({ ...shown, uid: "" }), { name: "TypeError", message: /that was shown/ });
  await assert.rejects(r.client.stop("a" as unknown as AskRef), TypeError);
  assert.equal(r.sent.length, 0);
});

test("an approval names the call", async () => {
  const r = rig(aRun([approval]));
  await r.client.approve(about("p"), digest, { wholeRun: true });
  assert.deepEqual(r.sent[0]?.[2]?.value, { id: "p", decision: "ApproveRun", digest });
  await r.client.deny(about("p"), digest, { reason: "no" });
  assert.deepEqual(r.sent[1]?.[2]?.value, { id: "p", decision: "Deny", reason: "no", digest });
  await assert.rejects(r.client.approve(about("p"), "sha256:other"), { name: "Refused", message: /nothing was decided/ });
  await assert.rejects(r.client.deny(about("p")), { name: "Refused", message: /nothing was decided/ });
  assert.equal(r.sent.length, 2);
});

test("a call that is not shown whole is not approved", async () => {
  const cut = { ...approval, action: { ...approval.action, arguments: '{"command":"l…' } };
  const r = rig(aRun([cut]));
  const step = (command: string, callID = "c"): object => ({
    status: { asks: [{ id: "p", callID }] },
    spec: { toolCalls: [{ id: "c", arguments: JSON.stringify({ command }) }] },
  });
  for (const other of [step("rm"), step("ls", "d")]) {
    r.steps = [other];
    await assert.rejects(r.client.approve(about("p"), digest), /does not have the call/);
  }
  assert.equal(r.sent.length, 0);
  r.steps = [step("ls")];
  await r.client.approve(about("p"), digest);
  assert.equal(await r.client.arguments(r.client.asks(aRun([cut]))[0]!), args);
  const long = JSON.stringify({ command: "x".repeat(64 << 10) });
  const ofLong = argsDigest("bash", long);
  r.gets = [aRun([{ ...approval, action: { tool: "bash", arguments: long, argsDigest: ofLong } }])];
  await assert.rejects(r.client.approve(about("p"), ofLong), /nothing was approved/);
  await r.client.deny(about("p"), ofLong);
});

test("each kind of ask has its decisions", async () => {
  const decisions: [string, (c: Client) => Promise<unknown>, object][] = [
    ["DomainRequest", (c) => c.allowDomain(about("i")), { decision: "AllowOnce" }],
    ["DomainRequest", (c) => c.allowDomain(about("i"), { wholeRun: true }), { decision: "AllowRun" }],
    ["DomainRequest", (c) => c.deny(about("i"), "", { reason: "no" }), { decision: "Deny", reason: "no" }],
    ["OutcomeUnknown", (c) => c.settle(about("i"), "Skip"), { decision: "Skip" }],
    ["Retry", (c) => c.retry(about("i"), "other", { domains: ["x.org"] }), { decision: "Retry", guidance: "other", addDomains: ["x.org"] }],
    ["Retry", (c) => c.stop(about("i")), { decision: "Stop" }],
  ];
  for (const [kind, decide, want] of decisions) {
    const r = rig(aRun([{ id: "i", kind }]));
    await decide(r.client);
    assert.deepEqual(r.sent[0]?.[2]?.value, { id: "i", ...want });
    await assert.rejects(r.client.answer(about("i"), "x"), NotAsked);
  }
});

test("what is not asked is not answered", async () => {
  for (const [run, error, says] of [
    [aRun(), NotAsked, /asks nothing now/],
    [aRun([approval]), NotAsked, /it asks Approval under the id p/],
    [done, NotAsked, /has ended \(Completed\)/],
    [answered, AlreadyAnswered, /by dana/],
    [aRun([{ ...question, answered: true }]), NotAsked, /asks nothing now/],
  ] as const) {
    const r = rig(run);
    await assert.rejects(r.client.answer(about("q"), "x"), (e: Error) => e instanceof error && says.test(e.message));
    assert.equal(r.sent.length, 0);
  }
});

test("an answer that is refused says why", async () => {
  for (const [failure, now, error, says] of [
    [conflict, answered, AlreadyAnswered, /by dana/],
    [conflict, aRun(), NotAsked, /asks nothing now/],
    [conflict, aRun([question], {}, "v"), Gone, /another one of its name/],
    [conflict, aRun([question]), Refused, /rejected our request/],
    [new Failure(403, "may not"), aRun([question]), Refused, /motorcortex-responder/],
    [new Failure(403, "policy x denied request: too late"), aRun([question]), Refused, /answer: too late$/],
    [new Failure(0, "reset"), aRun([question]), MotorCortexError, /does not answer/],
    [new Failure(0, "reset"), answered, AlreadyAnswered, /by dana$/],
    [new Failure(429, "busy"), aRun([question]), MotorCortexError, /Try again later/],
  ] as const) {
    const r = rig(aRun([question]), now);
    r.patches = [failure];
    await assert.rejects(r.client.answer(about("q"), "x"), (e: Error) => e instanceof error && says.test(e.message));
    assert.equal(r.sent.length, 1);
  }
});

test("a failure of the server is no refusal", async () => {
  const r = rig(aRun([question]));
  r.patches = [new Failure(504, "request did not complete")];
  await assert.rejects(r.client.answer(about("q"), "x"), (e: Error) => /may have been done/.test(e.message) && !(e instanceof Refused));
  assert.equal(r.sent.length, 1);
});

test("an answer that arrived is given although the API server was not heard", async () => {
  for (const failure of [new Failure(0, "reset"), new Failure(504, "request did not complete")]) {
    const r = rig(aRun([question]), aRun([question], {}, "u", [{ id: "q", respondedBy: "me", answer: "x" }]));
    r.patches = [failure];
    assert.equal((await r.client.answer(about("q"), "x")).spec.responses?.[0]?.respondedBy, "me");
  }
});

test("a second try is told that the run has this answer already", async () => {
  const same = (e: unknown): boolean => e instanceof AlreadyAnswered && e.same && /this very answer already, by dana/.test(e.message);
  await assert.rejects(rig(answered).client.answer(about("q"), "red"), same);
  const denied = rig(aRun([], {}, "u", [{ id: "d", decision: "Deny", respondedBy: "dana" }]));
  await assert.rejects(denied.client.deny(about("d"), digest), same);
  await assert.rejects(denied.client.deny(about("d"), "", { reason: "another" }), (e: unknown) => e instanceof AlreadyAnswered && !e.same);
  const approved = rig(aRun([approval], {}, "u", [{ id: "p", decision: "ApproveOnce", digest, respondedBy: "dana" }]));
  await assert.rejects(approved.client.approve(about("p"), digest), same);
});

test("an answer is sent again when the run changed at the same time", async () => {
  const r = rig(aRun([question]), aRun([{ id: "other", kind: "Retry" }, question]));
  r.patches = [conflict, {}];
  await r.client.answer(about("q"), "x");
  assert.equal(r.sent[1]?.[1]?.path, "/status/pendingInputs/1/id");
  const always = rig(aRun([question]));
  always.patches = [new Failure(409, "conflict")];
  await assert.rejects(always.client.answer(about("q"), "x"), Refused);
  assert.equal(always.sent.length, 3);
  const changed = rig(aRun([approval]), aRun([{ ...approval, action: { ...approval.action, argsDigest: "sha256:other" } }]));
  changed.patches = [new Failure(409, "conflict"), {}];
  await assert.rejects(changed.client.approve(about("p"), digest), /nothing was decided/);
  assert.equal(changed.sent.length, 1);
});

test("a run is created with what it is given", async () => {
  const r = rig(aRun());
  await r.client.run("x", { name: "n", inputs: { a: "b", c: [1] }, files: { f: "text" }, skill: "s", approval: "Always", spec: { mode: "Agentic" } });
  assert.deepEqual(r.bodies[0].metadata, { name: "n" });
  assert.deepEqual(r.bodies[0].spec, {
    mode: "Agentic",
    task: "x",
    skillRef: { name: "s" },
    inputs: [{ name: "a", value: "b" }, { name: "c", value: "[1]" }],
    files: [{ path: "f", content: "text" }],
    approval: { required: "Always" },
  });
  r.gets = [new Failure(0, "reset")];
  await assert.rejects(r.client.run("x"), /may have been created/);
  assert.throws(() => r.client.run(" "), TypeError);
});

test("a namespace that is busy names the runs that hold its places", async () => {
  const accepted = { conditions: [{ type: "Accepted", status: "True" }] };
  const named = (name: string, created: string, status: object = accepted, spec: object = {}): MotorRun => {
    const run = aRun([], status);
    return { ...run, metadata: { ...run.metadata, name, creationTimestamp: created }, spec: { ...run.spec, ...spec } } as MotorRun;
  };
  const cortex = (concurrency?: object): object => ({ metadata: { name: "default" }, spec: { concurrency } });
  const held = named("a", "2026-01-02T00:00:00Z");
  for (const [name, found, queue, runs, want] of [
    ["no MotorCortex", new Failure(404, "x"), false, [held], ""],
    ["one that may not be read", new Failure(403, "x"), false, [held], ""],
    ["no bound", cortex(), false, [held], ""],
    ["a place", cortex({ maxActive: 2 }), false, [held], ""],
    ["none", cortex({ maxActive: 1, whenBusy: "Queue" }), false, [held, named("b", "2026-01-01T00:00:00Z")], "b, a"],
    ["it waits by choice", cortex({ maxActive: 1, whenBusy: "Queue" }), undefined, [held], ""],
    ["it may not wait", cortex({ maxActive: 1, whenBusy: "Reject" }), undefined, [held], "a"],
    ["it was just created", cortex({ maxActive: 1 }), false, [named("d", "", {})], "d"],
    ["it has ended", cortex({ maxActive: 1 }), false, [named("c", "", { ...accepted, completionTime: "t" })], ""],
    ["it is a program", cortex({ maxActive: 1 }), false, [named("c", "", accepted, { mode: "Oneshot" })], ""],
    ["it never began", cortex({ maxActive: 1 }), false, [named("c", "", {}, { suspend: true })], ""],
    ["it is suspended", cortex({ maxActive: 1 }), false, [named("c", "", accepted, { suspend: true })], "c"],
    ["it is a copy", cortex({ maxActive: 1 }), false, [named("c", "", {}, { origin: "Copied" })], ""],
  ] as const) {
    const r = rig(aRun());
    r.cortices = [found];
    r.lists = [{ items: runs, metadata: {} }];
    const options = queue === undefined ? {} : { queue };
    if (want === "") {
      await r.client.run("x", options);
    } else {
      const busy = (e: unknown): boolean => e instanceof BusyError && e.namespace === "ns" && e.runs.join(", ") === want && e.message.includes(`(run ${want})`);
      await assert.rejects(r.client.run("x", options), busy, name);
    }
    assert.equal(r.bodies.length, want === "" ? 1 : 0, name);
  }
  const r = rig(aRun());
  r.cortices = [new Failure(500, "away")];
  await assert.rejects(r.client.run("x"), /get the MotorCortex of the namespace ns: away/);
});

test("a text is no list", async () => {
  const r = rig(aRun([{ id: "r", kind: "Retry" }]));
  const domains = "a.b" as unknown as string[];
  for (const call of [() => r.client.run("x", { domains }), () => r.client.retry(about("r"), "", { domains }), () => r.client.act("x", "y", { domains })]) {
    await assert.rejects(async () => call(), { name: "TypeError", message: /domains is "a.b": give a list/ });
  }
  assert.throws(() => r.client.run("x", { tools: [3] as never }), /tools is \[3\]/);
  assert.equal(r.bodies.length + r.sent.length, 0);
});

test("a program's result is returned", async () => {
  const r = rig(aRun(), aRun([], { completionTime: "t", result: { value: '{"ok":true,"value":3}' } }));
  assert.deepEqual(await r.client.act("count", "3"), { ok: true, value: 3 });
  assert.deepEqual(r.bodies[0].spec, { mode: "Oneshot", code: { language: "javascript", source: "3", purpose: "count" } });
  const failed = rig(aRun([], { completionTime: "t", reason: "Lost", message: "why" }));
  assert.deepEqual(await failed.client.act("count", "3"), { ok: false, error: { code: "Lost", message: "why" } });
  const broken = rig(aRun([], { completionTime: "t", result: { value: '{"ok":' } }));
  await assert.rejects(broken.client.act("count", "3"), (e: Error) => e instanceof Unreadable && /result of the run a/.test(e.message));
});

test("the inbox has all pages, and those first that expire first", async () => {
  const r = rig();
  r.lists = [
    { items: [aRun([question, { ...question, id: "r", expirationTime: "2026-02-01T00:00:00Z" }])], metadata: { continue: "c" } },
    { items: [aRun([{ ...approval, expirationTime: "2026-01-01T00:00:00Z" }]), aRun()], metadata: {} },
  ];
  assert.deepEqual((await r.client.inbox()).map((ask) => ask.id), ["p", "r", "q"]);
  assert.deepEqual(r.tokens, ["", "c"]);
});

test("a run that is not there is not found", async () => {
  const r = rig(new Failure(404, "x"));
  await assert.rejects(r.client.get("a"), NotFound);
  await assert.rejects(r.client.wait("a"), NotFound);
  await assert.rejects(rig(new Failure(503, "busy")).client.get("a"), { name: "MotorCortexError", message: "get the run a: busy. Try again" });
});

test("a run that has ended is not cancelled", async () => {
  await assert.rejects(rig(done).client.cancel("a"), /has ended/);
  const r = rig(aRun());
  await r.client.cancel("a");
  assert.deepEqual(r.sent[0]?.[1], { op: "add", path: "/spec/cancel", value: true });
});

test("everything is told once, over watches that end", async () => {
  const r = rig(aRun());
  const asked = aRun([question]);
  r.streams = [
    [aRun(), asked, asked, aRun([], { steps: 1 })],
    [new Failure(410, "old")],
    [{ type: "ERROR", object: { code: 410 } }],
    [{ type: "BOOKMARK", object: {} }, done],
  ];
  r.gets = [aRun(), aRun([], { steps: 1 })];
  assert.deepEqual(await r.types(), ["Changed", "Asked", "Changed", "Answered", "Ended"]);
  assert.deepEqual(await rig(done).types(), ["Ended"]);
});

test("a wait ends when a person is asked", async () => {
  const r = rig(aRun());
  r.streams = [[aRun([question]), new Failure(0, "not reached")]];
  assert.equal(r.client.asks(await r.client.wait("a", { untilAsked: true }))[0]?.question, "Which?");
});

test("a wait ends when its time is over", async () => {
  const r = rig(aRun());
  await assert.rejects(r.types({ timeout: 25_000 }), (e: Error) => e instanceof Timeout && /it goes on/.test(e.message));
  assert.ok(r.now < 60_000);
});

test("a wait ends by its signal", async () => {
  const r = rig(aRun());
  const stop = new AbortController();
  r.watch = (_plural, _name, _version, _seconds, _tell, signal) =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve());
      stop.abort(new Error("enough"));
    });
  await assert.rejects(r.types({ signal: stop.signal }), /enough/);
});

test("a run that is deleted is gone", async () => {
  for (const event of [{ type: "DELETED", object: aRun() }, aRun([], {}, "v")]) {
    const r = rig(aRun());
    r.streams = [[event]];
    await assert.rejects(r.types(), Gone);
  }
  await assert.rejects(rig(aRun(), new Failure(404, "x")).types(), Gone);
});

test("a consumer that takes its time gets the newest state", async () => {
  const r = rig(aRun());
  r.watch = async (_plural, _name, _version, _seconds, tell) => {
    for (let steps = 1; steps <= 1000; steps++) {
      tell("MODIFIED", aRun([], { steps }));
    }
    tell("MODIFIED", done);
  };
  assert.deepEqual(await r.types(), ["Changed", "Ended"]);
});

test("an API server can be away for a minute", async () => {
  const away = new Failure(0, "away");
  assert.deepEqual(await rig(away, new Failure(503, "busy"), done).types(), ["Ended"]);
  const r = rig(away);
  await assert.rejects(r.types(), (e: Error) => e instanceof MotorCortexError && /away/.test(e.message));
  assert.ok(r.now > 60_000 && r.now < 120_000);
  const refused = rig(new Failure(403, "may not"));
  await assert.rejects(refused.types(), /motorcortex-viewer/);
  assert.equal(refused.now, 0);
  const twice = rig(away, ...Array<unknown>(8).fill(aRun()), away, done);
  assert.deepEqual(await twice.types(), ["Changed", "Ended"]);
  assert.ok(twice.now > 80_000);
});

test("streams that are cut for minutes end no watch while the run can be read", async () => {
  const r = rig(aRun());
  for (let i = 0; i < 90; i++) {
    r.streams.push([new Failure(0, "cut")]);
  }
  r.streams.push([done]);
  assert.deepEqual(await r.types(), ["Changed", "Ended"]);
  assert.ok(r.now > 80_000);
});

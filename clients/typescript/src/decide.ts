// SPDX-License-Identifier: Apache-2.0

import { isDeepStrictEqual } from "node:util";

import { type Ask, type AskRef, asksOf, responseTo } from "./asks.js";
import { argsDigest } from "./digest.js";
import { AlreadyAnswered, Gone, MotorCortexError, NotAsked, NotFound, Refused } from "./errors.js";
import { refused } from "./refused.js";
import { type Change, Failure, type Transport } from "./transport.js";
import type { MotorRun, MotorRunSpecResponses, MotorStep } from "./types.js";

/** The most characters of the arguments of a call that is approved: a person is to see all of it. */
export const maxArguments = 64 << 10;

/** How often an answer is sent when the run changes at the same time. */
const tries = 3;

/** What a person decided, and about which ask. */
export interface Decision {
  readonly about: AskRef;
  readonly kinds: readonly Ask["kind"][];
  /** The digest of the call as the person saw it. An approval without it is refused. */
  readonly digest?: string;
  /** Whether the call must be shown whole. */
  readonly whole?: boolean;
  readonly response: Omit<MotorRunSpecResponses, "id">;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a decision about exactly what was seen, and about no other run of that name. */
export async function decide(transport: Transport, namespace: string, d: Decision): Promise<MotorRun> {
  const { run: name, uid, id } = d.about;
  if (![name, uid, id].every((text) => typeof text === "string" && text)) {
    throw new TypeError("an ask has a run, a uid and an id: take those of the ask that was shown");
  }
  let run = await read(transport, namespace, d);
  for (let left = tries; ; left--) {
    const ask = await checked(transport, namespace, d, run);
    const response = responseOf(d, ask.digest);
    try {
      return (await transport.patch("motorruns", name, changes(run, ask, response), d.signal)) as MotorRun;
    } catch (error) {
      if (!(error instanceof Failure)) {
        throw error;
      }
      const why = refused(`the run ${name} did not take the answer`, error, role(ask), namespace);
      if (why instanceof NotFound || error.status === 429) {
        throw why;
      }
      const lost = !(why instanceof Refused);
      const now = await after(transport, namespace, d, why);
      if (lost && says(now, response)) {
        return now; // The answer of the API server was lost, and not that of the person.
      }
      find(namespace, d, now);
      // It asks that still. If its place in the list is another one, or someone wrote at the same time, it is worth another try.
      if (lost || left <= 1 || (error.status !== 409 && place(now, id) === place(run, id))) {
        throw why;
      }
      run = now;
    }
  }
}

async function read(transport: Transport, namespace: string, d: Decision): Promise<MotorRun> {
  const { run: name, uid } = d.about;
  let run: MotorRun;
  try {
    run = (await transport.get("motorruns", name, d.signal)) as MotorRun;
  } catch (error) {
    throw error instanceof Failure ? refused(`get the run ${name}`, error, "motorcortex-viewer", namespace) : error;
  }
  if (run.metadata.uid !== uid) {
    throw new Gone(`the run ${name} that asked is gone, and there is another one of its name: nothing was decided`);
  }
  return run;
}

/** Reads the run again after an error, which stays the error if the run cannot be read. */
async function after(transport: Transport, namespace: string, d: Decision, why: MotorCortexError): Promise<MotorRun> {
  try {
    return await read(transport, namespace, d);
  } catch (error) {
    throw error instanceof MotorCortexError && !(error instanceof Gone) ? why : error;
  }
}

async function checked(transport: Transport, namespace: string, d: Decision, run: MotorRun): Promise<Ask> {
  const ask = find(namespace, d, run);
  if (ask.kind !== "Approval") {
    return ask;
  }
  if (d.digest !== ask.digest) {
    throw new Refused(
      `the call that the run ${ask.run} asks about has the digest ${ask.digest}, and not ${JSON.stringify(d.digest)}: nothing was decided. ` +
        "Look at the call, and decide by its digest",
    );
  }
  if (d.whole && (await argumentsOf(transport, ask, d.signal)).length > maxArguments) {
    throw new Refused(
      `the call that the run ${ask.run} asks about has over ${maxArguments} characters of arguments: nothing was approved. Deny it, or decide with kubectl motor`,
    );
  }
  return ask;
}

function find(namespace: string, d: Decision, run: MotorRun): Ask {
  const name = d.about.run;
  const asks = asksOf(namespace, run);
  const ask = asks.find(({ id, kind }) => id === d.about.id && d.kinds.includes(kind));
  if (ask) {
    return ask;
  }
  const given = responseTo(run, d.about.id);
  if (given) {
    const by = given.respondedBy ?? "another account";
    // A domain that is denied has no digest, whatever the program gave.
    if (says(run, responseOf(d, d.digest ?? "")) || says(run, responseOf(d, ""))) {
      const done = "nothing more is to be done. If that is your account, an earlier try sent it";
      throw new AlreadyAnswered(`the run ${name} has this very answer already, by ${by}: ${done}`, true);
    }
    throw new AlreadyAnswered(`the run ${name} was answered already by ${by}`);
  }
  if (asks.length > 0) {
    throw new NotAsked(`the run ${name} does not ask that: it asks ${asks.map(({ kind, id }) => `${kind} under the id ${id}`).join(", ")}`);
  }
  if (run.status?.completionTime) {
    throw new NotAsked(`the run ${name} asks nothing any more, it has ended (${run.status.reason})`);
  }
  throw new NotAsked(`the run ${name} asks nothing now`);
}

/** The response as it is sent, and as the run has it then. */
function responseOf(d: Decision, digest: string): MotorRunSpecResponses {
  const given = Object.entries({ ...d.response, digest }).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value));
  return { id: d.about.id, ...Object.fromEntries(given) } as MotorRunSpecResponses;
}

/** Whether a run has this very response. The API server adds who sent it. */
function says(run: MotorRun, response: MotorRunSpecResponses): boolean {
  const given = responseTo(run, response.id);
  return given !== undefined && isDeepStrictEqual({ ...given, respondedBy: undefined }, { ...response, respondedBy: undefined });
}

function changes(run: MotorRun, ask: Ask, response: MotorRunSpecResponses): Change[] {
  return [
    { op: "test", path: "/metadata/uid", value: ask.uid },
    { op: "test", path: `/status/pendingInputs/${place(run, ask.id)}/id`, value: ask.id },
    { op: "add", path: "/spec/responses/-", value: response },
  ];
}

function place(run: MotorRun, id: string): number {
  return (run.status?.pendingInputs ?? []).findIndex((input) => input.id === id);
}

function role(ask: Ask): string {
  return ask.kind === "Approval" || ask.kind === "DomainRequest" ? "motorcortex-approver" : "motorcortex-responder";
}

/** Returns the arguments of the call of an ask, whole, if they are those of its digest. */
export async function argumentsOf(transport: Transport, ask: Ask, signal: AbortSignal | undefined): Promise<string> {
  const action = ask.input.action;
  if (!action) {
    throw new Refused(`the ask ${ask.id} does not say which call it is about`);
  }
  const isIt = (args: string): boolean => argsDigest(action.tool, args) === ask.digest;
  if (isIt(action.arguments ?? "")) {
    return action.arguments ?? "";
  }
  const name = ask.input.stepName ?? "";
  let step: MotorStep;
  try {
    step = (await transport.get("motorsteps", name, signal)) as MotorStep;
  } catch (error) {
    throw error instanceof Failure ? refused(`get the step ${name}`, error, "motorcortex-viewer", ask.namespace) : error;
  }
  const calls = (step.status?.asks ?? []).filter(({ id }) => id === ask.id).map(({ callID }) => callID);
  const call = (step.spec.toolCalls ?? []).find(({ id, arguments: args }) => calls.includes(id) && isIt(args ?? ""));
  if (!call) {
    throw new Refused(`the step ${name} does not have the call of the ask ${ask.id} with the digest ${ask.digest}`);
  }
  return call.arguments ?? "";
}

// SPDX-License-Identifier: Apache-2.0

import { type Ask, asksOf, responseTo } from "./asks.js";
import { argsDigest } from "./digest.js";
import { AlreadyAnswered, Gone, NotAsked, Refused } from "./errors.js";
import { refused } from "./refused.js";
import { type Change, Failure, type Transport } from "./transport.js";
import type { MotorRun, MotorRunSpecResponses, MotorStep } from "./types.js";

/** The most characters of the arguments of a call that is approved: a person is to see all of it. */
export const maxArguments = 64 << 10;

/** How often an answer is sent when the run changes at the same time. */
const tries = 3;

/** What a person decided, and about which ask. */
export interface Decision {
  readonly name: string;
  readonly id: string;
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
  let run = await read(transport, namespace, d);
  for (let left = tries; ; left--) {
    const ask = await checked(transport, namespace, d, run);
    try {
      return (await transport.patch("motorruns", d.name, changes(run, ask, d), d.signal)) as MotorRun;
    } catch (error) {
      if (!(error instanceof Failure)) {
        throw error;
      }
      const why = refused(`the run ${d.name} did not take the answer`, error, role(ask), namespace);
      if (!(why instanceof Refused)) {
        throw why;
      }
      const now = await read(transport, namespace, d);
      if (now.metadata.uid !== run.metadata.uid) {
        throw new Gone(`the run ${d.name} that asked is gone, and there is another one of its name`, { cause: error });
      }
      find(namespace, d, now);
      // It asks that still. If its place in the list is another one, or someone wrote at the same time, it is worth another try.
      if (left <= 1 || (error.status !== 409 && place(now, d.id) === place(run, d.id))) {
        throw why;
      }
      run = now;
    }
  }
}

async function read(transport: Transport, namespace: string, d: Decision): Promise<MotorRun> {
  try {
    return (await transport.get("motorruns", d.name, d.signal)) as MotorRun;
  } catch (error) {
    throw error instanceof Failure ? refused(`get the run ${d.name}`, error, "motorcortex-viewer", namespace) : error;
  }
}

async function checked(transport: Transport, namespace: string, d: Decision, run: MotorRun): Promise<Ask> {
  const ask = find(namespace, d, run);
  if (ask.kind !== "Approval") {
    return ask;
  }
  if (d.digest !== ask.digest) {
    throw new Refused(
      `the call that the run ${d.name} asks about has the digest ${ask.digest}, and not ${JSON.stringify(d.digest)}: nothing was decided. ` +
        "Look at the call, and decide by its digest",
    );
  }
  if (d.whole && (await argumentsOf(transport, ask, d.signal)).length > maxArguments) {
    throw new Refused(
      `the call that the run ${d.name} asks about has over ${maxArguments} characters of arguments: nothing was approved. Deny it, or decide with kubectl motor`,
    );
  }
  return ask;
}

function find(namespace: string, d: Decision, run: MotorRun): Ask {
  const asks = asksOf(namespace, run);
  const ask = asks.find(({ id, kind }) => id === d.id && d.kinds.includes(kind));
  if (ask) {
    return ask;
  }
  const given = responseTo(run, d.id);
  if (given) {
    throw new AlreadyAnswered(`the run ${d.name} was answered already by ${given.respondedBy ?? "another account"}`);
  }
  if (asks.length > 0) {
    throw new NotAsked(`the run ${d.name} does not ask that: it asks ${asks.map(({ kind, id }) => `${kind} under the id ${id}`).join(", ")}`);
  }
  if (run.status?.completionTime) {
    throw new NotAsked(`the run ${d.name} asks nothing any more, it has ended (${run.status.reason})`);
  }
  throw new NotAsked(`the run ${d.name} asks nothing now`);
}

function changes(run: MotorRun, ask: Ask, d: Decision): Change[] {
  const given = Object.entries({ ...d.response, digest: ask.digest }).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value));
  return [
    { op: "test", path: "/metadata/uid", value: run.metadata.uid },
    { op: "test", path: `/status/pendingInputs/${place(run, ask.id)}/id`, value: ask.id },
    { op: "add", path: "/spec/responses/-", value: { id: ask.id, ...Object.fromEntries(given) } },
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

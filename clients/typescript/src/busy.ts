// SPDX-License-Identifier: Apache-2.0

import { BusyError } from "./errors.js";
import { refused } from "./refused.js";
import { Failure, type Transport } from "./transport.js";
import type { MotorCortex, MotorRun } from "./types.js";

/** The most runs that a BusyError names. */
const most = 8;

/**
 * Throws BusyError if the MotorCortex of the namespace has no place for a run now. queue accepts to wait for one, where the MotorCortex lets runs wait. runs
 * are those of the namespace, which are read only if there is a bound.
 */
export async function checkPlace(transport: Transport, namespace: string, runs: AsyncIterable<MotorRun>, queue: boolean, signal?: AbortSignal): Promise<void> {
  const bound = (await read(transport, namespace, signal))?.spec.concurrency;
  if (!bound || (queue && bound.whenBusy !== "Reject")) {
    return;
  }
  const taken: { created: string; name: string }[] = [];
  for await (const run of runs) {
    if (takesPlace(run)) {
      taken.push({ created: run.metadata.creationTimestamp ?? "", name: run.metadata.name });
    }
  }
  if (taken.length >= Math.max(bound.maxActive ?? 1, 1)) {
    const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
    taken.sort((a, b) => order(a.created, b.created) || order(a.name, b.name));
    throw new BusyError(namespace, taken.slice(0, most).map((run) => run.name));
  }
}

/** Without a MotorCortex there is no bound. What an account may not read, the operator decides by. */
async function read(transport: Transport, namespace: string, signal?: AbortSignal): Promise<MotorCortex | undefined> {
  try {
    return (await transport.get("motorcortices", "default", signal)) as MotorCortex;
  } catch (error) {
    if (error instanceof Failure && (error.status === 403 || error.status === 404)) {
      return undefined;
    }
    throw error instanceof Failure ? refused(`get the MotorCortex of the namespace ${namespace}`, error, "motorcortex-viewer", namespace) : error;
  }
}

/** Whether a run has a place, or takes one when the operator looks at it. */
function takesPlace({ metadata, spec, status }: MotorRun): boolean {
  if (spec.mode === "Oneshot" || spec.mode === "Install" || metadata.deletionTimestamp || status?.completionTime) {
    return false;
  }
  if (status?.conditions?.some((condition) => condition.type === "Accepted" && condition.status === "True")) {
    return true;
  }
  return !spec.suspend && !spec.cancel && spec.origin !== "Copied";
}

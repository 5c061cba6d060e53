// SPDX-License-Identifier: Apache-2.0

import { MotorCortexError, NotFound, Refused } from "./errors.js";
import type { Failure } from "./transport.js";

/** An error that says in words why the API server did not do something. role is the ClusterRole that permits it. */
export function refused(what: string, failure: Failure, role: string, namespace: string): MotorCortexError {
  const options = { cause: failure };
  if (failure.status === 0) {
    return new MotorCortexError(`${what}: the API server does not answer: ${failure.message}`, options);
  }
  if (failure.status === 404) {
    return new NotFound(`${what}: ${failure.message}`, options);
  }
  // A policy of admission says why, after the sentence that names it.
  const policy = "denied request: ";
  const at = failure.message.indexOf(policy);
  if (at >= 0) {
    return new Refused(`${what}: ${failure.message.slice(at + policy.length)}`, options);
  }
  const help = failure.status === 403 ? `. Have the ClusterRole ${role} bound to this account in the namespace ${namespace}` : "";
  return new Refused(`${what}: ${failure.message}${help}`, options);
}

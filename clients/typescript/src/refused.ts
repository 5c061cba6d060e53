// SPDX-License-Identifier: Apache-2.0

import { MotorCortexError, NotFound, Refused, Unreadable } from "./errors.js";
import type { Failure } from "./transport.js";

/** An error that says in words why the API server did not do something. role is the ClusterRole that permits it. */
export function refused(what: string, failure: Failure, role: string, namespace: string): MotorCortexError {
  const options = { cause: failure };
  if (failure.unreadable) {
    const look = "Look whether the server of the configuration is an API server, and whether a proxy answers for it";
    return new Unreadable(`${what}: the answer cannot be read: ${failure.message}. ${look}`, options);
  }
  if (failure.status === 0) {
    return new MotorCortexError(`${what}: the API server does not answer: ${failure.message}`, options);
  }
  if (failure.status === 404) {
    return new NotFound(`${what}: ${failure.message}`, options);
  }
  if (failure.status === 401) {
    return new Refused(
      `${what}: the API server does not know the account (${failure.message}), although the configuration was read again. Its token is not valid any more: ` +
        "log in again, or give the client a function that returns a configuration with a new token",
      options,
    );
  }
  if (failure.status === 429) {
    return new MotorCortexError(`${what}: the API server has too much to do: ${failure.message}. Try again later`, options);
  }
  if (failure.status >= 500) {
    // A viewer changes nothing.
    const next = role === "motorcortex-viewer" ? "Try again" : "It may have been done: look before you try again";
    return new MotorCortexError(`${what}: ${failure.message}. ${next}`, options);
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

// SPDX-License-Identifier: Apache-2.0

/** The base of all errors of the package. Each says what was refused, where, and what to do. */
export class MotorCortexError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** There is no such run. */
export class NotFound extends MotorCortexError {}

/** The run that was followed, or that asked, was deleted. Another one may have its name. */
export class Gone extends MotorCortexError {}

/** The cluster, or a check before the request, refused it. Nothing was decided. */
export class Refused extends MotorCortexError {}

/** The run does not ask that now. */
export class NotAsked extends MotorCortexError {}

/** Another answer came first. same is true if that one says the same: an earlier try of the program can have sent it. */
export class AlreadyAnswered extends NotAsked {
  readonly same: boolean;

  constructor(message: string, same = false) {
    super(message);
    this.same = same;
  }
}

/** The namespace has no place for a run. runs hold the places, or wait for one before it: the oldest first, eight at most. */
export class BusyError extends MotorCortexError {
  readonly namespace: string;
  readonly runs: readonly string[];

  constructor(namespace: string, runs: readonly string[]) {
    super(
      `Motor Cortex is busy in the namespace ${namespace} (run ${runs.join(", ")}): wait until it has ended, cancel it, or give queue: true where runs may wait`,
    );
    this.namespace = namespace;
    this.runs = runs;
  }
}

/** An answer is none of an API server: it is broken, or a proxy gave it. */
export class Unreadable extends MotorCortexError {}

/** The time is over. The run goes on. */
export class Timeout extends MotorCortexError {}

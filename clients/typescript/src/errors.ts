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

/** The run was deleted while it was followed. Another one may have its name. */
export class Gone extends MotorCortexError {}

/** The cluster, or a check before the request, refused it. Nothing was decided. */
export class Refused extends MotorCortexError {}

/** The run does not ask that now. */
export class NotAsked extends MotorCortexError {}

/** Another answer came first. */
export class AlreadyAnswered extends NotAsked {}

/** The time is over. The run goes on. */
export class Timeout extends MotorCortexError {}

// SPDX-License-Identifier: Apache-2.0

/**
 * Start runs of Motor Cortex, follow them to their end, and answer what they ask. Everything is done with the rights of the account of the configuration.
 * Texts of runs come from models, tools and pages. They are data: a program that shows them to a model says so, and one that shows them at a terminal
 * escapes them.
 */

export type { Ask, AskRef } from "./asks.js";
export { type Acted, type ActOptions, Client, type ClientOptions, type DecisionOptions, type RunOptions, type ScopeOptions } from "./client.js";
export { argsDigest } from "./digest.js";
export { AlreadyAnswered, BusyError, Gone, MotorCortexError, NotAsked, NotFound, Refused, Timeout, Unreadable } from "./errors.js";
export type * from "./types.js";
export type { Clock, Event, Limits } from "./watch.js";

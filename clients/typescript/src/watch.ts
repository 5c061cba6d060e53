// SPDX-License-Identifier: Apache-2.0

import { type Ask, asksOf } from "./asks.js";
import { Gone, MotorCortexError, Timeout } from "./errors.js";
import { Failure, type Transport } from "./transport.js";
import type { MotorRun } from "./types.js";

/** Something that happened to a run: what changed, and the run as it was then. */
export interface Event {
  readonly type: "Changed" | "Asked" | "Answered" | "Ended";
  readonly run: MotorRun;
  readonly ask?: Ask;
}

/** When to give up. */
export interface Limits {
  /** Milliseconds. Without it there is no limit. */
  readonly timeout?: number | undefined;
  /** Ends the request, or the wait, with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** A clock, which tests replace. Milliseconds. */
export interface Clock {
  now(): number;
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** How long an API server may be away before that ends a watch, and the pause between two tries. Milliseconds. */
const patience = 60_000;
const pause = 1000;

/** How long a run is not read while no event tells of a change: a connection can be dead without an error. Milliseconds. */
const quiet = 30_000;

/** Follows a run from how it stands now until it has ended. refused makes an error of a request that will not succeed later either. */
export async function* follow(
  transport: Transport, namespace: string, name: string, limits: Limits, clock: Clock, refused: (error: Failure) => MotorCortexError,
): AsyncGenerator<Event, void, void> {
  const deadline = limits.timeout === undefined ? Infinity : clock.now() + limits.timeout;
  const seen = new Seen(namespace, name);
  let failing = Infinity; // Since when the API server is away.
  for (let first = true; !seen.ended; first = false) {
    // A server that ends each watch at once must not be asked without a pause.
    if (!first) {
      await clock.sleep(Math.min(pause, Math.max(0, deadline - clock.now())), limits.signal);
    }
    const left = Math.min(deadline - clock.now(), quiet);
    if (left <= 0) {
      throw new Timeout(`the time to wait for the run ${name} is over: it goes on. Wait for it again later, or look at its status`);
    }
    try {
      const run = (await transport.get("motorruns", name, limits.signal)) as MotorRun;
      failing = Infinity;
      yield* seen.tell(run);
      if (!seen.ended) {
        yield* stream(transport, name, run.metadata.resourceVersion, left, seen, limits.signal);
      }
    } catch (error) {
      if (!(error instanceof Failure)) {
        throw error;
      }
      if (error.status === 404 && seen.begun) {
        throw new Gone(`the run ${name} was deleted`, { cause: error });
      }
      failing = Math.min(failing, clock.now());
      if (error.status === 401 || error.status === 403 || error.status === 404 || clock.now() - failing > patience) {
        throw refused(error);
      }
    }
  }
}

/** Yields what one watch tells. It keeps only the newest state: a consumer that takes its time must not make a queue grow. */
async function* stream(
  transport: Transport, name: string, version: string, milliseconds: number, seen: Seen, signal: AbortSignal | undefined,
): AsyncGenerator<Event, void, void> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), milliseconds);
  const ends = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  let newest: MotorRun | undefined;
  let deleted = false;
  let over = false;
  let failed: unknown;
  let wake = (): void => {};
  const tell = (type: string, object: unknown): void => {
    if (type === "DELETED") {
      deleted = true;
    } else if (type === "ADDED" || type === "MODIFIED") {
      newest = object as MotorRun;
    } else if (type === "ERROR") {
      stop.abort(); // The version is too old, or the server has a problem: reading finds what is new.
    }
    wake();
  };
  const end = (error?: unknown): void => {
    over = true;
    failed = error;
    wake();
  };
  transport.watch("motorruns", name, version, milliseconds / 1000, tell, ends).then(() => end(), end);
  try {
    while (!seen.ended) {
      const run = newest;
      newest = undefined;
      if (run) {
        yield* seen.tell(run);
      } else if (deleted) {
        throw new Gone(`the run ${name} was deleted`);
      } else if (over) {
        signal?.throwIfAborted();
        if (failed) {
          throw failed;
        }
        return;
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

/** Tells what is new of a run. */
class Seen {
  ended = false;
  readonly #namespace: string;
  readonly #name: string;
  #uid = "";
  #state = "";
  #asked = new Map<string, Ask>();

  constructor(namespace: string, name: string) {
    this.#namespace = namespace;
    this.#name = name;
  }

  get begun(): boolean {
    return this.#uid !== "";
  }

  *tell(run: MotorRun): Generator<Event, void, void> {
    if (this.begun && this.#uid !== run.metadata.uid) {
      throw new Gone(`the run ${this.#name} was deleted, and there is another one of its name`);
    }
    this.#uid = run.metadata.uid;
    this.ended = Boolean(run.status?.completionTime);
    const state = JSON.stringify([run.status?.phase, run.status?.reason, run.status?.steps]);
    const changed = state !== this.#state && !this.ended;
    this.#state = state;
    const now = new Map(asksOf(this.#namespace, run).map((ask) => [ask.id, ask]));
    const before = this.#asked;
    this.#asked = now;
    if (changed) {
      yield { type: "Changed", run };
    }
    for (const [id, ask] of now) {
      if (!before.has(id)) {
        yield { type: "Asked", run, ask };
      }
    }
    for (const [id, ask] of before) {
      if (!now.has(id)) {
        yield { type: "Answered", run, ask };
      }
    }
    if (this.ended) {
      yield { type: "Ended", run };
    }
  }
}

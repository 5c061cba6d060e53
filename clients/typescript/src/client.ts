// SPDX-License-Identifier: Apache-2.0

import { setTimeout as sleep } from "node:timers/promises";

import { KubeConfig } from "@kubernetes/client-node";

import { type Ask, type AskRef, asksOf } from "./asks.js";
import { checkPlace } from "./busy.js";
import { argumentsOf, decide, type Decision } from "./decide.js";
import { MotorCortexError, Refused, Unreadable } from "./errors.js";
import { refused } from "./refused.js";
import { type Change, Failure, Kubernetes, type Transport } from "./transport.js";
import type { MotorRun, MotorRunSpec } from "./types.js";
import { type Clock, type Event, follow, type Limits } from "./watch.js";

/** What a run is besides its task. */
export interface RunOptions extends Pick<Limits, "signal"> {
  /** A name, which makes it safe to try again. Without it the API server makes one. */
  readonly name?: string;
  readonly tools?: MotorRunSpec["tools"];
  /** The hosts that it can reach. */
  readonly domains?: MotorRunSpec["domains"];
  /** The name of an approved skill. */
  readonly skill?: string;
  /** Values by their names. One that is no text is given in JSON. */
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** Texts for the workspace by their paths. */
  readonly files?: Readonly<Record<string, string>>;
  /** The name of a model. */
  readonly model?: string;
  /** Which calls need a person. */
  readonly approval?: "Never" | "Irreversible" | "Always";
  /** Any other fields of the spec. */
  readonly spec?: Partial<MotorRunSpec>;
  /**
   * Lets the run wait where the MotorCortex of the namespace has no place for it now: true unless it is given. With false, or where runs must not wait,
   * BusyError is thrown instead. Two calls in the same instant can both find a place: then the API server decides.
   */
  readonly queue?: boolean;
}

/** A program that is run without a model. */
export interface ActOptions extends Limits {
  readonly language?: "javascript" | "python";
  readonly domains?: MotorRunSpec["domains"];
}

/** What a program came to. */
export interface Acted {
  readonly ok: boolean;
  readonly value?: unknown;
  readonly console?: unknown;
  readonly error?: { readonly code?: string; readonly message?: string };
}

/** Why, and until when, a person decided. */
export interface DecisionOptions extends Pick<Limits, "signal"> {
  readonly reason?: string;
}

/** A decision that can be for the rest of the run. */
export interface ScopeOptions extends DecisionOptions {
  readonly wholeRun?: boolean;
}

/** What another configuration, or a test, gives a client. */
export interface ClientOptions {
  /** A function is called again when the API server does not know the account any more: a token is replaced before its end. */
  readonly config?: KubeConfig | (() => KubeConfig);
  readonly transport?: Transport;
  readonly clock?: Clock;
}

const clockOfTheMachine: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) => sleep(milliseconds, undefined, signal ? { signal } : {}),
};

/** How many runs are read in a request. */
const pageSize = 500;

/** How long a program may take if nothing else is said. Milliseconds. */
const actTime = 120_000;

/** A client for the runs of a namespace. Without a configuration it takes that of KUBECONFIG, of ~/.kube/config, or of the Pod. */
export class Client {
  readonly namespace: string;
  readonly #transport: Transport;
  readonly #clock: Clock;

  constructor(namespace: string, options: ClientOptions = {}) {
    if (!namespace) {
      throw new TypeError("the namespace is empty: name the one in which runs are created");
    }
    this.namespace = namespace;
    this.#clock = options.clock ?? clockOfTheMachine;
    this.#transport = options.transport ?? new Kubernetes(options.config ?? defaultConfig, namespace);
  }

  /**
   * Creates a run and returns it. A request without an answer is a MotorCortexError: the run may have been created. Give it a name to be able to try
   * again.
   */
  run(task: string, options: RunOptions = {}): Promise<MotorRun> {
    if (!task.trim()) {
      throw new TypeError("the task is empty");
    }
    const spec: Partial<MotorRunSpec> = { ...options.spec, task };
    if (options.tools) {
      spec.tools = listOf("tools", options.tools);
    }
    if (options.domains) {
      spec.domains = listOf("domains", options.domains);
    }
    if (options.skill) {
      spec.skillRef = { name: options.skill };
    }
    if (options.inputs) {
      spec.inputs = Object.entries(options.inputs).map(([name, value]) => ({ name, value: typeof value === "string" ? value : JSON.stringify(value) }));
    }
    if (options.files) {
      spec.files = Object.entries(options.files).map(([path, content]) => ({ path, content }));
    }
    if (options.model) {
      spec.model = { name: options.model };
    }
    if (options.approval) {
      spec.approval = { required: options.approval };
    }
    return this.#run(spec, options);
  }

  async #run(spec: Partial<MotorRunSpec>, options: RunOptions): Promise<MotorRun> {
    if ((spec.mode ?? "Agentic") === "Agentic") {
      await checkPlace(this.#transport, this.namespace, this.runs(options), options.queue ?? true, options.signal);
    }
    return this.#create(spec, options.name, options.signal);
  }

  /**
   * Runs a program in a sandbox without a model, waits for its end, and returns what it came to. task says for people what it is for. After the
   * timeout, of two minutes if nothing else is said, it throws Timeout, and the run goes on.
   */
  async act(task: string, source: string, options: ActOptions = {}): Promise<Acted> {
    if (!task.trim()) {
      throw new TypeError("the task is empty");
    }
    const { language = "javascript", domains, signal, timeout = actTime } = options;
    const spec: Partial<MotorRunSpec> = { mode: "Oneshot", code: { language, source, purpose: task } };
    if (domains) {
      spec.domains = listOf("domains", domains);
    }
    const run = await this.#create(spec, undefined, signal);
    const { status } = await this.wait(run.metadata.name, { signal, timeout });
    const value = status?.result?.value;
    if (!value) {
      return { ok: false, error: { code: status?.reason ?? "", message: status?.message ?? "" } };
    }
    try {
      return JSON.parse(value) as Acted;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Unreadable(`the result of the run ${run.metadata.name} cannot be read: ${why}. Look at status.result.value of the run`, { cause: error });
    }
  }

  /** Reads a run. */
  async get(name: string, options: Pick<Limits, "signal"> = {}): Promise<MotorRun> {
    return (await this.#asking(`get the run ${name}`, "motorcortex-viewer", () => this.#transport.get("motorruns", name, options.signal))) as MotorRun;
  }

  /** Yields the runs of the namespace. It reads 500 in a request. */
  async *runs(options: Pick<Limits, "signal"> = {}): AsyncGenerator<MotorRun, void, void> {
    let token = "";
    do {
      const page = (await this.#asking(`list the runs of the namespace ${this.namespace}`, "motorcortex-viewer", () =>
        this.#transport.list("motorruns", pageSize, token, options.signal),
      )) as { items: MotorRun[]; metadata: { continue?: string } };
      yield* page.items;
      token = page.metadata.continue ?? "";
    } while (token);
  }

  /** Ends a run, in any phase, for ever. */
  async cancel(name: string, options: Pick<Limits, "signal"> = {}): Promise<MotorRun> {
    const run = await this.get(name, options);
    if (run.status?.completionTime) {
      throw new Refused(`the run ${name} has ended (${run.status.reason}): there is nothing to cancel`);
    }
    const changes: Change[] = [
      { op: "test", path: "/metadata/uid", value: run.metadata.uid },
      { op: "add", path: "/spec/cancel", value: true },
    ];
    const patched = await this.#asking(`cancel the run ${name}`, "motorcortex-editor", () => this.#transport.patch("motorruns", name, changes, options.signal));
    return patched as MotorRun;
  }

  /**
   * Yields what happens to a run, from how it stands now until it has ended. Events that follow each other quickly can come as one. A watch that the API
   * server ends, or whose connection is lost, is begun again. After a minute in which the run could not be read the error is thrown.
   */
  watch(name: string, limits: Limits = {}): AsyncGenerator<Event, void, void> {
    const error = (failure: Failure): MotorCortexError => refused(`watch the run ${name}`, failure, "motorcortex-viewer", this.namespace);
    return follow(this.#transport, this.namespace, name, limits, this.#clock, error);
  }

  /** Returns the run when it has ended. With untilAsked it also returns when the run waits for a person. */
  async wait(name: string, options: Limits & { readonly untilAsked?: boolean } = {}): Promise<MotorRun> {
    for await (const event of this.watch(name, options)) {
      if (event.type === "Ended" || (options.untilAsked && this.asks(event.run).length > 0)) {
        return event.run;
      }
    }
    throw new MotorCortexError(`the watch of the run ${name} ended without an event`);
  }

  /** Returns what a run waits for that has no answer yet. */
  asks(run: MotorRun): Ask[] {
    return asksOf(this.namespace, run);
  }

  /** Returns what the runs of the namespace wait for, those first that expire first. */
  async inbox(options: Pick<Limits, "signal"> = {}): Promise<Ask[]> {
    const asks: Ask[] = [];
    for await (const run of this.runs(options)) {
      asks.push(...this.asks(run));
    }
    const expires = (ask: Ask): number => (ask.input.expirationTime ? Date.parse(ask.input.expirationTime) : Infinity);
    return asks.sort((a, b) => (expires(a) < expires(b) ? -1 : expires(a) > expires(b) ? 1 : 0));
  }

  /**
   * Returns the arguments of the call that an ask is about, whole, if they are those of its digest. The status of a run has the beginning and the end of
   * long ones. The rest needs the right to read steps.
   */
  arguments(ask: Ask, options: Pick<Limits, "signal"> = {}): Promise<string> {
    return argumentsOf(this.#transport, ask, options.signal);
  }

  /** Answers a question. about is the ask that was shown: an answer reaches no other run of its name, and nothing that the run asks by now. */
  answer(about: AskRef, answer: string, options: Pick<Limits, "signal"> = {}): Promise<MotorRun> {
    return this.#decide({ about, kinds: ["Question"], response: { answer }, ...options });
  }

  /**
   * Approves the tool call with that digest, as the person saw it. With wholeRun it approves every further call of the same tool by the same rule, too. A
   * call that cannot be shown whole is refused.
   */
  approve(about: AskRef, digest: string, { wholeRun = false, reason = "", signal }: ScopeOptions = {}): Promise<MotorRun> {
    const decision = wholeRun ? "ApproveRun" : "ApproveOnce";
    return this.#decide({ about, kinds: ["Approval"], digest, whole: true, response: { decision, reason }, signal });
  }

  /** Denies a tool call, by its digest, or a domain, which has none. The run goes on, and its model is told the reason. */
  deny(about: AskRef, digest = "", { reason = "", signal }: DecisionOptions = {}): Promise<MotorRun> {
    return this.#decide({ about, kinds: ["Approval", "DomainRequest"], digest, response: { decision: "Deny", reason }, signal });
  }

  /** Lets a run reach the domain that it asks for: once, or until it ends. */
  allowDomain(about: AskRef, { wholeRun = false, reason = "", signal }: ScopeOptions = {}): Promise<MotorRun> {
    return this.#decide({ about, kinds: ["DomainRequest"], response: { decision: wholeRun ? "AllowRun" : "AllowOnce", reason }, signal });
  }

  /** Decides about a call of unknown outcome. */
  settle(about: AskRef, decision: "Retry" | "Done" | "Skip", { reason = "", signal }: DecisionOptions = {}): Promise<MotorRun> {
    return this.#decide({ about, kinds: ["OutcomeUnknown"], response: { decision, reason }, signal });
  }

  /** Starts another attempt of a run whose last one failed. domains are hosts that it may reach from then on; they need the verb approve. */
  retry(about: AskRef, guidance = "", options: Pick<RunOptions, "domains" | "signal"> = {}): Promise<MotorRun> {
    const response = { decision: "Retry", guidance, addDomains: listOf("domains", options.domains ?? []) } as const;
    return this.#decide({ about, kinds: ["Retry"], response, signal: options.signal });
  }

  /** Ends a run after an attempt that failed. */
  stop(about: AskRef, { reason = "", signal }: DecisionOptions = {}): Promise<MotorRun> {
    return this.#decide({ about, kinds: ["Retry"], response: { decision: "Stop", reason }, signal });
  }

  #decide(decision: Decision): Promise<MotorRun> {
    return decide(this.#transport, this.namespace, decision);
  }

  async #create(spec: Partial<MotorRunSpec>, name: string | undefined, signal: AbortSignal | undefined): Promise<MotorRun> {
    const metadata = name ? { name } : { generateName: "run-" };
    const body = { apiVersion: "motorcortex.dev/v1alpha1", kind: "MotorRun", metadata, spec };
    const what = `create a run in the namespace ${this.namespace}`;
    try {
      return (await this.#transport.create("motorruns", body, signal)) as MotorRun;
    } catch (error) {
      if (error instanceof Failure && error.status === 0) {
        throw new MotorCortexError(`${what}: ${error.message}. It may have been created: list the runs before you try again`, { cause: error });
      }
      throw error instanceof Failure ? refused(what, error, "motorcortex-editor", this.namespace) : error;
    }
  }

  async #asking(what: string, role: string, request: () => Promise<unknown>): Promise<unknown> {
    try {
      return await request();
    } catch (error) {
      throw error instanceof Failure ? refused(what, error, role, this.namespace) : error;
    }
  }
}

/** JavaScript has no types: a text would be sent as it is, or as its characters. */
function listOf<T extends readonly string[]>(what: string, texts: T): T {
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string")) {
    throw new TypeError(`${what} is ${JSON.stringify(texts)}: give a list of texts, as in ["example.org"]`);
  }
  return texts;
}

function defaultConfig(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromDefault();
  return config;
}

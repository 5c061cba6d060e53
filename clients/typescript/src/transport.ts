// SPDX-License-Identifier: Apache-2.0

import { ApiException, CustomObjectsApi, type KubeConfig, type ObservableMiddleware, PatchStrategy, setHeaderOptions, Watch } from "@kubernetes/client-node";

/** The kinds that a client reads. */
export type Plural = "motorruns" | "motorsteps";

/** One change of a JSON patch. */
export interface Change {
  readonly op: "test" | "add";
  readonly path: string;
  readonly value: unknown;
}

/** An event of a watch. */
export type Told = (type: string, object: unknown) => void;

/** A request that failed. status is that of HTTP, and 0 if there was no answer. */
export class Failure extends Error {
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** What a client needs of an API server. Each method throws a Failure, or the reason of the signal. */
export interface Transport {
  get(plural: Plural, name: string, signal?: AbortSignal): Promise<unknown>;
  list(plural: Plural, limit: number, token: string, signal?: AbortSignal): Promise<unknown>;
  create(plural: Plural, body: object, signal?: AbortSignal): Promise<unknown>;
  patch(plural: Plural, name: string, changes: readonly Change[], signal?: AbortSignal): Promise<unknown>;
  /** Tells what happens to an object after a version of it. Ends after so many seconds at most, and when the signal is aborted. */
  watch(plural: Plural, name: string, version: string, seconds: number, tell: Told, signal: AbortSignal): Promise<void>;
}

const group = "motorcortex.dev";
const version = "v1alpha1";

/** How long a request may take, and how long a watch may take beyond its time. Milliseconds. */
const requestTime = 30_000;

/** The official client. */
export class Kubernetes implements Transport {
  readonly #config: KubeConfig;
  readonly #api: CustomObjectsApi;
  readonly #namespace: string;

  constructor(config: KubeConfig, namespace: string) {
    this.#config = config;
    this.#api = config.makeApiClient(CustomObjectsApi);
    this.#namespace = namespace;
  }

  get(plural: Plural, name: string, signal?: AbortSignal): Promise<unknown> {
    return this.#request(signal, (options) => this.#api.getNamespacedCustomObject({ ...this.#of(plural), name }, options));
  }

  list(plural: Plural, limit: number, token: string, signal?: AbortSignal): Promise<unknown> {
    return this.#request(signal, (options) => this.#api.listNamespacedCustomObject({ ...this.#of(plural), limit, _continue: token || undefined }, options));
  }

  create(plural: Plural, body: object, signal?: AbortSignal): Promise<unknown> {
    return this.#request(signal, (options) => this.#api.createNamespacedCustomObject({ ...this.#of(plural), body }, options));
  }

  patch(plural: Plural, name: string, changes: readonly Change[], signal?: AbortSignal): Promise<unknown> {
    return this.#request(signal, (options) => this.#api.patchNamespacedCustomObject({ ...this.#of(plural), name, body: changes }, options), PatchStrategy.JsonPatch);
  }

  watch(plural: Plural, name: string, resourceVersion: string, seconds: number, tell: Told, signal: AbortSignal): Promise<void> {
    const whole = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000 + requestTime)]);
    const path = `/apis/${group}/${version}/namespaces/${encodeURIComponent(this.#namespace)}/${plural}`;
    const query = { fieldSelector: `metadata.name=${name}`, resourceVersion, timeoutSeconds: Math.max(1, Math.round(seconds)) };
    return new Promise((resolve, reject) => {
      whole.addEventListener("abort", () => resolve(), { once: true });
      const done = (error: unknown): void => (error && !whole.aborted ? reject(failure(error)) : resolve());
      const watching = new Watch(this.#config).watch(path, query, (type: string, object: unknown) => whole.aborted || tell(type, object), done);
      // A connection that is begun while the signal comes is given up when it stands.
      watching.then((begun) => (whole.aborted ? begun.abort() : whole.addEventListener("abort", () => begun.abort(), { once: true })), done);
    });
  }

  #of(plural: Plural): { group: string; version: string; namespace: string; plural: string } {
    return { group, version, namespace: this.#namespace, plural };
  }

  async #request<T>(signal: AbortSignal | undefined, send: (options: ReturnType<typeof setHeaderOptions>) => Promise<T>, contentType?: string): Promise<T> {
    signal?.throwIfAborted();
    const limit = AbortSignal.timeout(requestTime);
    const either = signal ? AbortSignal.any([signal, limit]) : limit;
    const header = setHeaderOptions(contentType ? "Content-Type" : "Accept", contentType ?? "application/json");
    try {
      return await send({ ...header, middleware: (header.middleware ?? []).map((m) => abortable(m, either)) });
    } catch (error) {
      signal?.throwIfAborted();
      throw failure(error);
    }
  }
}

/** The official client has no parameter for a signal. */
function abortable(m: ObservableMiddleware, signal: AbortSignal): ObservableMiddleware {
  return {
    pre: (request) => {
      request.setSignal(signal);
      return m.pre(request);
    },
    post: (response) => m.post(response),
  };
}

function failure(error: unknown): Failure {
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof ApiException) {
    return new Failure(error.code, messageOf(error.body) || `the API server answered ${error.code}`, { cause: error });
  }
  const status = error instanceof Error && "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 0;
  return new Failure(status, text, { cause: error });
}

/** The message of a Status, which can be a text that has it in JSON. */
function messageOf(body: unknown): string {
  let status = body;
  if (typeof body === "string") {
    try {
      status = JSON.parse(body);
    } catch {
      return body.slice(0, 1000);
    }
  }
  return typeof status === "object" && status !== null && "message" in status ? String(status.message) : "";
}

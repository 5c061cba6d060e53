// SPDX-License-Identifier: Apache-2.0

import { ApiException, CustomObjectsApi, type KubeConfig, type ObservableMiddleware, PatchStrategy, setHeaderOptions, Watch } from "@kubernetes/client-node";

/** The kinds that a client reads. */
export type Plural = "motorruns" | "motorsteps" | "motorcortices";

/** One change of a JSON patch. */
export interface Change {
  readonly op: "test" | "add";
  readonly path: string;
  readonly value: unknown;
}

/** An event of a watch. */
export type Told = (type: string, object: unknown) => void;

/** A request that failed. status is that of HTTP, and 0 if there was no answer, or one that is unreadable. */
export class Failure extends Error {
  readonly status: number;
  readonly unreadable: boolean;

  constructor(status: number, message: string, options?: ErrorOptions & { readonly unreadable?: boolean }) {
    super(message, options);
    this.status = status;
    this.unreadable = options?.unreadable ?? false;
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

/** Sends a request of the official client. */
type Send<T> = (api: CustomObjectsApi, options: ReturnType<typeof setHeaderOptions>) => Promise<T>;

/** The types of events that have an object of the kind. */
const changing: ReadonlySet<string> = new Set(["ADDED", "MODIFIED", "DELETED"]);

/** How long a request may take, and how long a watch may take beyond its time. Milliseconds. */
const requestTime = 30_000;

/** A configuration, and the client that was made of it. */
interface Connection {
  readonly config: KubeConfig;
  readonly api: CustomObjectsApi;
}

/** The official client. A function that returns a configuration is called again when the API server does not know the account: tokens are replaced. */
export class Kubernetes implements Transport {
  readonly #config: KubeConfig | (() => KubeConfig);
  readonly #namespace: string;
  #connection: Connection;

  constructor(config: KubeConfig | (() => KubeConfig), namespace: string) {
    this.#config = config;
    this.#namespace = namespace;
    this.#connection = this.#connect();
  }

  async get(plural: Plural, name: string, signal?: AbortSignal): Promise<unknown> {
    return checked(plural, await this.#request(signal, (api, options) => api.getNamespacedCustomObject({ ...this.#of(plural), name }, options)));
  }

  async list(plural: Plural, limit: number, token: string, signal?: AbortSignal): Promise<unknown> {
    const page = await this.#request(signal, (api, options) =>
      api.listNamespacedCustomObject({ ...this.#of(plural), limit, _continue: token || undefined }, options),
    );
    return checkedPage(plural, page);
  }

  async create(plural: Plural, body: object, signal?: AbortSignal): Promise<unknown> {
    return checked(plural, await this.#request(signal, (api, options) => api.createNamespacedCustomObject({ ...this.#of(plural), body }, options)));
  }

  async patch(plural: Plural, name: string, changes: readonly Change[], signal?: AbortSignal): Promise<unknown> {
    const patched = await this.#request(
      signal,
      (api, options) => api.patchNamespacedCustomObject({ ...this.#of(plural), name, body: changes }, options),
      PatchStrategy.JsonPatch,
    );
    return checked(plural, patched);
  }

  watch(plural: Plural, name: string, resourceVersion: string, seconds: number, tell: Told, signal: AbortSignal): Promise<void> {
    return this.#known(({ config }) => this.#watch(config, plural, name, resourceVersion, seconds, tell, signal));
  }

  #watch(config: KubeConfig, plural: Plural, name: string, resourceVersion: string, seconds: number, tell: Told, signal: AbortSignal): Promise<void> {
    const whole = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000 + requestTime)]);
    const path = `/apis/${group}/${version}/namespaces/${encodeURIComponent(this.#namespace)}/${plural}`;
    const query = { fieldSelector: `metadata.name=${name}`, resourceVersion, timeoutSeconds: Math.max(1, Math.round(seconds)) };
    return new Promise((resolve, reject) => {
      whole.addEventListener("abort", () => resolve(), { once: true });
      const done = (error: unknown): void => (error && !whole.aborted ? reject(failure(error)) : resolve());
      // The official client leaves out lines that are no JSON, and would do so with an error of this.
      const told = (type: unknown, object: unknown): void => {
        try {
          if (!whole.aborted && typeof type === "string") {
            tell(type, changing.has(type) ? checked(plural, object) : object);
          }
        } catch (error) {
          reject(error);
        }
      };
      const watching = new Watch(config).watch(path, query, told, done);
      // A connection that is begun while the signal comes is given up when it stands.
      watching.then((begun) => (whole.aborted ? begun.abort() : whole.addEventListener("abort", () => begun.abort(), { once: true })), done);
    });
  }

  #of(plural: Plural): { group: string; version: string; namespace: string; plural: string } {
    return { group, version, namespace: this.#namespace, plural };
  }

  #connect(): Connection {
    const config = typeof this.#config === "function" ? this.#config() : this.#config;
    return { config, api: config.makeApiClient(CustomObjectsApi) };
  }

  /** Sends a request, and again with the configuration as it is now if the server does not know the account. */
  async #known<T>(send: (connection: Connection) => Promise<T>): Promise<T> {
    const before = this.#connection;
    try {
      return await send(before);
    } catch (error) {
      if (!(error instanceof Failure) || error.status !== 401) {
        throw error;
      }
    }
    if (this.#connection === before) {
      try {
        this.#connection = this.#connect();
      } catch (error) {
        throw new Failure(401, `the configuration cannot be read again: ${textOf(error)}`, { cause: error });
      }
    }
    return send(this.#connection);
  }

  #request<T>(signal: AbortSignal | undefined, send: Send<T>, contentType?: string): Promise<T> {
    return this.#known(({ api }) => this.#send(api, signal, send, contentType));
  }

  async #send<T>(api: CustomObjectsApi, signal: AbortSignal | undefined, send: Send<T>, contentType?: string): Promise<T> {
    signal?.throwIfAborted();
    const limit = AbortSignal.timeout(requestTime);
    const either = signal ? AbortSignal.any([signal, limit]) : limit;
    const header = setHeaderOptions(contentType ? "Content-Type" : "Accept", contentType ?? "application/json");
    try {
      return await send(api, { ...header, middleware: (header.middleware ?? []).map((m) => abortable(m, either)) });
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
  const text = textOf(error);
  if (error instanceof ApiException) {
    return new Failure(error.code, messageOf(error.body) || `the API server answered ${error.code}`, { cause: error });
  }
  const status = error instanceof Error && "statusCode" in error && typeof error.statusCode === "number" ? error.statusCode : 0;
  // The last two are how the official client says that an answer has another type than JSON.
  const unreadable = error instanceof SyntaxError || /^(Cannot parse content|The mediaType )/.test(text);
  return new Failure(status, text, { cause: error, unreadable });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function head(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).replace(/[^ -~]/g, "?").slice(0, 100);
}

/** Throws for what is no object of the kind. It checks all that this package reads without a look. */
function checked(plural: Plural, value: unknown): unknown {
  const metadata = isObject(value) ? value.metadata : undefined;
  if (!isObject(value) || !isObject(metadata) || !["name", "uid", "resourceVersion"].every((key) => typeof metadata[key] === "string")) {
    throw new Failure(0, `it is no object of the kind ${plural}: ${head(value)}`, { unreadable: true });
  }
  const { spec, status = {} } = value;
  if (plural === "motorcortices") {
    if (!isObject(spec) || !(spec.concurrency === undefined || isObject(spec.concurrency))) {
      throw new Failure(0, `motorcortices ${String(metadata.name)} has no readable spec`, { unreadable: true });
    }
    return value;
  }
  const conditions = isObject(status) ? status.conditions ?? [] : [];
  if (!Array.isArray(conditions) || !conditions.every(isObject)) {
    throw new Failure(0, `${plural} ${String(metadata.name)} has no readable conditions`, { unreadable: true });
  }
  const lists = plural === "motorruns" ? [[spec, "responses"], [status, "pendingInputs"]] as const : [[spec, "toolCalls"], [status, "asks"]] as const;
  for (const [part, key] of lists) {
    const entries = isObject(part) ? part[key] ?? [] : undefined;
    if (!Array.isArray(entries) || !entries.every((entry) => isObject(entry) && typeof entry.id === "string")) {
      throw new Failure(0, `${plural} ${String(metadata.name)} has no readable ${key}`, { unreadable: true });
    }
  }
  return value;
}

function checkedPage(plural: Plural, value: unknown): unknown {
  if (!isObject(value) || !isObject(value.metadata) || !Array.isArray(value.items)) {
    throw new Failure(0, `it is no list: ${head(value)}`, { unreadable: true });
  }
  value.items.forEach((item) => checked(plural, item));
  return value;
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

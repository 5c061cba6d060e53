// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";

import { KubeConfig } from "@kubernetes/client-node";

import { Failure, Kubernetes } from "../src/transport.js";

/** An API server on the loopback, without TLS, which the official client permits only so. Its connections end with the test. */
async function serve(t: TestContext, handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Kubernetes> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: "c", server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, skipTLSVerify: true }],
    users: [{ name: "u", token: "t" }],
    contexts: [{ name: "x", cluster: "c", user: "u" }],
    currentContext: "x",
  });
  return new Kubernetes(config, "ns");
}

async function read(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) {
    text += String(part);
  }
  return text;
}

test("a change is a JSON patch", async (t) => {
  let seen: unknown[] = [];
  const api = await serve(t, async (request, response) => {
    seen = [request.method, request.url, request.headers["content-type"], request.headers.authorization, JSON.parse(await read(request))];
    response.setHeader("Content-Type", "application/json").end('{"metadata":{"name":"a"}}');
  });
  const changes = [{ op: "add", path: "/spec/cancel", value: true }] as const;
  assert.deepEqual(await api.patch("motorruns", "a", changes), { metadata: { name: "a" } });
  assert.deepEqual(seen, ["PATCH", "/apis/motorcortex.dev/v1alpha1/namespaces/ns/motorruns/a", "application/json-patch+json", "Bearer t", changes]);
});

test("a refusal has the status and the message of the API server", async (t) => {
  const bodies = ['{"kind":"Status","message":"may not"}', "plain", '{"kind":"Status"}'];
  const api = await serve(t, (_, response) => response.writeHead(403, { "Content-Type": "application/json" }).end(bodies.shift()));
  for (const message of [/^may not$/, /^(plain|the API server answered 403)$/, /403/]) {
    await assert.rejects(api.get("motorruns", "a"), (e: Error) => e instanceof Failure && e.status === 403 && message.test(e.message));
  }
});

test("a request without an answer has no status, and ends by its signal", async (t) => {
  const stop = new AbortController();
  const api = await serve(t, (request, response) => (request.url?.endsWith("/lost") ? response.destroy() : stop.abort(new Error("enough"))));
  await assert.rejects(api.get("motorruns", "lost"), (e: Error) => e instanceof Failure && e.status === 0);
  await assert.rejects(api.get("motorruns", "hangs", stop.signal), /^Error: enough$/);
});

test("a watch tells until the server ends it", async (t) => {
  let url = "";
  const api = await serve(t, (request, response) => {
    url = request.url ?? "";
    response.write('{"type":"MODIFIED","object":{"a":1}}\n');
    response.end('{"type":"ERROR","object":{"code":410}}\n');
  });
  const told: unknown[] = [];
  await api.watch("motorruns", "a", "7", 20, (...event) => told.push(event), new AbortController().signal);
  assert.deepEqual(told, [["MODIFIED", { a: 1 }], ["ERROR", { code: 410 }]]);
  assert.match(url, /^\/apis\/motorcortex.dev\/v1alpha1\/namespaces\/ns\/motorruns\?watch=true&/);
  for (const parameter of ["fieldSelector=metadata.name%3Da", "resourceVersion=7", "timeoutSeconds=20"]) {
    assert.ok(url.includes(parameter), url);
  }
});

test("a watch ends by its signal, and closes its connection", async (t) => {
  for (const answers of [true, false]) {
    const stop = new AbortController();
    let closed = (): void => {};
    const whenClosed = new Promise<void>((resolve) => (closed = resolve));
    const api = await serve(t, (request, response) => {
      request.socket.on("close", closed);
      if (answers) {
        response.write('{"type":"MODIFIED","object":{}}\n');
      } else {
        stop.abort();
        setImmediate(() => response.write("\n"));
      }
    });
    const told: string[] = [];
    const tell = (type: string): void => {
      told.push(type);
      stop.abort();
    };
    await api.watch("motorruns", "a", "1", 20, tell, stop.signal);
    await whenClosed;
    assert.deepEqual(told, answers ? ["MODIFIED"] : []);
  }
});

test("a watch that is refused fails with the status", async (t) => {
  const api = await serve(t, (_, response) => response.writeHead(410).end("{}"));
  await assert.rejects(
    api.watch("motorruns", "a", "1", 20, () => {}, new AbortController().signal),
    (e: Error) => e instanceof Failure && e.status === 410,
  );
});

// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";

import { KubeConfig } from "@kubernetes/client-node";

import { Client, Unreadable } from "../src/index.js";
import { Failure, Kubernetes } from "../src/transport.js";

/** An API server on the loopback, without TLS, which the official client permits only so. Its connections end with the test. */
async function serve(t: TestContext, handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Kubernetes> {
  return new Kubernetes(await configure(t, handle), "ns");
}

async function configure(t: TestContext, handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<KubeConfig> {
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
  return config;
}

const aRun = { metadata: { name: "a", uid: "u", resourceVersion: "1" }, spec: {} };

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
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(aRun));
  });
  const changes = [{ op: "add", path: "/spec/cancel", value: true }] as const;
  assert.deepEqual(await api.patch("motorruns", "a", changes), aRun);
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
    response.write(`${JSON.stringify({ type: "MODIFIED", object: aRun })}\n{"type":\n`);
    response.end('{"type":"ERROR","object":{"code":410}}\n{"type":"MODI');
  });
  const told: unknown[] = [];
  await api.watch("motorruns", "a", "7", 20, (...event) => told.push(event), new AbortController().signal);
  assert.deepEqual(told, [["MODIFIED", aRun], ["ERROR", { code: 410 }]]);
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
        response.write(`${JSON.stringify({ type: "MODIFIED", object: aRun })}\n`);
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

test("an answer that is none of an API server is unreadable", async (t) => {
  const bodies: [string, string][] = [
    ["text/html", "<html>"], ["application/json", "<html>"], ["application/xml", "x"], ["application/json", "null"], ["application/json", "[]"],
    ["application/json", '{"metadata":{"name":"a"}}'], ["application/json", JSON.stringify({ ...aRun, spec: { responses: 3 } })],
    ["application/json", JSON.stringify({ ...aRun, status: { pendingInputs: [{}] } })],
  ];
  for (const [type, body] of bodies) {
    const api = await serve(t, (_, response) => response.setHeader("Content-Type", type).end(body));
    const unreadable = (e: Error): boolean => e instanceof Failure && e.unreadable;
    await assert.rejects(api.get("motorruns", "a"), unreadable, body);
    await assert.rejects(api.list("motorruns", 500, ""), unreadable, body);
    await assert.rejects(new Client("ns", { transport: api }).get("a"), (e: Error) => e instanceof Unreadable && /whether a proxy answers/.test(e.message));
  }
  const api = await serve(t, (_, response) => response.end('{"type":"MODIFIED","object":{}}\n'));
  await assert.rejects(
    api.watch("motorruns", "a", "1", 20, () => {}, new AbortController().signal),
    (e: Error) => e instanceof Failure && e.unreadable,
  );
});

test("a token that was replaced is read again", async (t) => {
  const seen: unknown[] = [];
  const config = await configure(t, (request, response) => {
    seen.push(request.headers.authorization);
    const known = request.headers.authorization === "Bearer new";
    response.writeHead(known ? 200 : 401, { "Content-Type": "application/json" }).end(known && !request.url?.includes("watch=true") ? JSON.stringify(aRun) : "");
  });
  const withToken = (token: string): KubeConfig => {
    const copy = new KubeConfig();
    copy.loadFromString(config.exportConfig());
    copy.loadFromClusterAndUser(copy.getCurrentCluster()!, { name: "u", token });
    return copy;
  };
  const replaced = (): (() => KubeConfig) => {
    const tokens = ["old", "new"];
    return () => withToken(tokens.shift()!);
  };
  assert.deepEqual(await new Kubernetes(replaced(), "ns").get("motorruns", "a"), aRun);
  await new Kubernetes(replaced(), "ns").watch("motorruns", "a", "1", 20, () => {}, new AbortController().signal);
  assert.deepEqual(seen, ["Bearer old", "Bearer new", "Bearer old", "Bearer new"]);
  const old = new Client("ns", { config: () => withToken("old") });
  await assert.rejects(old.wait("a"), { name: "Refused", message: /read again.*log in again/ });
  assert.equal(seen.length, 6);
});

test("a watch that is refused fails with the status", async (t) => {
  const api = await serve(t, (_, response) => response.writeHead(410).end("{}"));
  await assert.rejects(
    api.watch("motorruns", "a", "1", 20, () => {}, new AbortController().signal),
    (e: Error) => e instanceof Failure && e.status === 410,
  );
});

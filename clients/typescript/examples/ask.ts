// SPDX-License-Identifier: Apache-2.0

// Has a task carried out, and lets a person at the terminal decide what it asks.
//
//     node build/examples/ask.js NAMESPACE "Which colour should the door be?"

import { createInterface } from "node:readline";

import { Client } from "../src/index.js";

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Keeps a text of a model from moving the cursor. */
function shown(text: string): string {
  return JSON.stringify(text).replace(/[^ -~]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

async function input(prompt: string): Promise<string> {
  console.log(prompt);
  const { value, done } = await answers.next();
  if (done) {
    throw new Error("the input has ended, and the run still asks");
  }
  return value;
}

async function main(namespace: string, task: string): Promise<number> {
  const client = new Client(namespace);
  const { metadata: { name } } = await client.run(task, { tools: ["read", "bash"], approval: "Irreversible" });
  console.log("started", name);
  for (;;) {
    const run = await client.wait(name, { untilAsked: true, timeout: 600_000 });
    for (const ask of client.asks(run)) {
      if (ask.kind === "Question") {
        await client.answer(ask, await input(shown(ask.question)));
      } else if (ask.kind === "Approval") {
        console.log("It wants to do this:", shown(await client.arguments(ask)));
        if ((await input("yes or no?")) === "yes") {
          await client.approve(ask, ask.digest);
        } else {
          await client.deny(ask, ask.digest, { reason: "A person said no." });
        }
      } else {
        console.log("It waits for something else:", ask.kind);
        return 2;
      }
    }
    if (run.status?.completionTime) {
      console.log(shown(run.status.result?.summary ?? run.status.message ?? ""));
      return run.status.result?.ok ? 0 : 1;
    }
  }
}

const [namespace, task] = process.argv.slice(2);
if (!namespace || !task) {
  console.error("usage: node build/examples/ask.js NAMESPACE TASK");
  process.exit(2);
}
process.exitCode = await main(namespace, task);
process.stdin.destroy();

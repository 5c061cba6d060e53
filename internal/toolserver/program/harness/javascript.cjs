// SPDX-License-Identifier: Apache-2.0

// What Node.js loads before a program that comes on standard input. It marks the program's last expression, so that its
// value is told on the extra file. Node.js itself then runs the program, as it runs any other.

const { closeSync, openSync, readFileSync, writeSync } = require("node:fs");
const { createRequire } = require("node:module");
const { Readable } = require("node:stream");
const { inspect, types } = require("node:util");
const { isMainThread } = require("node:worker_threads");

// Programs that use require and await at the top level are common. Node.js takes them for ES modules, which have no
// require. It looks from the workspace.
globalThis.require = createRequire(process.cwd() + "/");

const most = 40000; // characters of what is told at once

// Threads load this too. What the program forks does not: it inherits these arguments.
if (isMainThread) {
  process.execArgv.length = 0;
  run();
}

function run() {
  useProxy();
  const tell = teller();
  const source = readFileSync(0, "utf8");
  const program = parse(source);
  // Node.js reads the program from standard input, which has been read. After that, there is the true one again, at its end.
  const stdin = Object.getOwnPropertyDescriptor(process, "stdin");
  const fed = Readable.from([Buffer.from(program.marked ?? source)], { objectMode: false });
  fed.on("end", () => Object.defineProperty(process, "stdin", stdin));
  Object.defineProperty(process, "stdin", { configurable: true, enumerable: true, get: () => fed });
  if (program.marked !== undefined) {
    Object.defineProperty(globalThis, program.mark, {
      configurable: true,
      set(value) {
        delete globalThis[program.mark];
        tellValue(tell, value);
      },
    });
  }
  process.on("uncaughtExceptionMonitor", (error) => tellError(tell, error, program.badLine));
}

// useProxy has fetch go through the proxy of the environment, as curl and Python do. Node.js does so by itself from 22.21 on.
function useProxy() {
  if (!process.env.HTTPS_PROXY) return;
  const warn = process.emitWarning;
  process.emitWarning = () => {}; // That it is experimental is nothing to tell the program's reader.
  try {
    const { EnvHttpProxyAgent, setGlobalDispatcher } = globalThis.require("internal/deps/undici/undici");
    setGlobalDispatcher(new EnvHttpProxyAgent());
  } catch {
    // Another version of Node.js, which may know the proxy without this.
  } finally {
    process.emitWarning = warn;
  }
}

// teller gives what writes one message to the extra file. The file is moved, so that programs of the program do not get it.
function teller() {
  let file;
  try {
    file = openSync("/proc/self/fd/3", "w");
    closeSync(3);
  } catch {
    return () => {};
  }
  return (kind, text, line) => {
    const message = { kind, text: text.slice(0, most), cut: text.length > most, line };
    let rest = Buffer.from("\n" + JSON.stringify(message) + "\n"); // On a line of its own, whatever the program wrote there.
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(file, rest));
    } catch {
      // The program has closed it, and has no value then.
    }
  };
}

// parse gives the program with its last expression marked, or the line where it cannot be understood. Without a parser,
// which is that of Node.js itself, there is neither.
function parse(source) {
  let parser;
  try {
    parser = globalThis.require("internal/deps/acorn/acorn/dist/acorn");
  } catch {
    return {};
  }
  let mark = "$_"; // the global that the last expression is assigned to
  while (source.includes(mark)) mark += "_";
  let worst;
  for (const sourceType of ["script", "module"]) {
    try {
      const tree = parser.parse(source, { sourceType, ecmaVersion: "latest", allowHashBang: true, allowAwaitOutsideFunction: true });
      return { mark, marked: markLast(source, tree.body, mark) };
    } catch (error) {
      if (!worst || error.pos > worst.pos) worst = error;
    }
  }
  return returning(parser, source, mark) ?? { badLine: worst.loc?.line };
}

// returning gives a program that returns at its top level as the body of a function, whose value is the program's. Its lines keep
// their numbers. Without such a return there is none.
function returning(parser, source, mark) {
  try {
    const options = { sourceType: "script", ecmaVersion: "latest", allowHashBang: true, allowAwaitOutsideFunction: true, allowReturnOutsideFunction: true };
    parser.parse(source, options);
  } catch {
    return undefined;
  }
  return { mark, marked: `${mark}=(async()=>{${source.replace(/^#!/, "//")}\n})();` };
}

// markLast assigns the default export to the mark, or else the expression that is the last statement. The words go before
// the line of that expression where they can, because errors quote the line.
function markLast(source, body, mark) {
  // A function without a name would get that of a mere variable.
  const words = (value) => (/Function|Class/.test(value.type) ? `globalThis.${mark}=` : `${mark}=`);
  const insert = (at, text) => source.slice(0, at) + text + source.slice(at);
  const exported = body.find((s) => s.type === "ExportDefaultDeclaration");
  if (exported) {
    const isValue = !/^(Function|Class)Declaration$/.test(exported.declaration.type);
    return isValue ? insert(exported.declaration.start, words(exported.declaration)) : undefined;
  }
  const at = body.findLastIndex((s) => s.type !== "EmptyStatement");
  const last = body[at];
  if (last?.type !== "ExpressionStatement" || last.directive) return undefined;
  if (last.expression.type === "SequenceExpression" && source[last.start] !== "(") {
    const value = last.expression.expressions.at(-1);
    return insert(value.start, words(value));
  }
  return at > 0 ? insert(body[at - 1].end, ";" + words(last.expression)) : insert(last.start, words(last.expression));
}

function tellValue(tell, value) {
  if (!types.isPromise(value)) {
    show(tell, value);
    return;
  }
  const pending = () => show(tell, value);
  process.on("exit", pending);
  value.then(
    (result) => {
      process.off("exit", pending);
      show(tell, result);
    },
    (error) => {
      process.off("exit", pending);
      throw error; // As if nobody had listened.
    },
  );
}

function show(tell, value) {
  if (value === undefined) return;
  try {
    tell("json", JSON.stringify(value, asJSON));
    return;
  } catch {
    // It has no JSON.
  }
  try {
    tell("text", inspect(value, { depth: 4 }));
  } catch (error) {
    tell("text", `[the value cannot be shown: ${error}]`);
  }
}

// asJSON refuses what JSON would show as something else.
function asJSON(_, value) {
  const known = /^\[object (Object|Array|String|Number|Boolean|Null|Undefined)\]$/;
  if (!known.test(Object.prototype.toString.call(value)) || (typeof value === "number" && !Number.isFinite(value))) {
    throw new TypeError("no JSON");
  }
  return value;
}

function tellError(tell, error, badLine) {
  let text, line;
  try {
    text = error instanceof Error ? String(error) : inspect(error);
    line = /\[(?:stdin|eval\d*)\]:(\d+)/.exec(error?.stack)?.[1];
  } catch {
    text ??= "the program threw what cannot be shown";
  }
  tell("error", text, Number(line ?? badLine) || undefined);
}

// SPDX-License-Identifier: Apache-2.0

import { createHash } from "node:crypto";

/** Deeper arguments are digested as a text, as the operator does. */
const maxDepth = 1000;

/**
 * Returns "sha256:…" of the tool's name, a line break, and the arguments in canonical JSON, as the operator does. An approval names the call by it.
 */
export function argsDigest(tool: string, args: string): string {
  return "sha256:" + createHash("sha256").update(`${tool}\n${canonical(args)}`).digest("hex");
}

/** Arguments that are no JSON object, or have a key twice, are digested as a text: readers differ in which of the two they take. */
function canonical(args: string): string {
  try {
    return new Reader(args).object();
  } catch (error) {
    if (error instanceof SyntaxError) {
      return quoted(args);
    }
    throw error;
  }
}

/** Reads JSON and returns it with sorted keys, no space between, and numbers as they are written. JSON.parse would make different large numbers equal. */
class Reader {
  #at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** One object and nothing after it. */
  object(): string {
    this.#space();
    if (this.#text[this.#at] !== "{") {
      throw new SyntaxError("it is no object");
    }
    const object = this.#value(0);
    this.#space();
    if (this.#at < this.#text.length) {
      throw new SyntaxError("something is after the object");
    }
    return object;
  }

  #value(depth: number): string {
    this.#space();
    switch (this.#text[this.#at]) {
      case "{":
        return this.#members(depth);
      case "[":
        return this.#items(depth);
      case '"':
        return quoted(this.#string());
    }
    const word = this.#match(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (!word) {
      throw new SyntaxError(`no value is at ${this.#at}`);
    }
    return word;
  }

  #members(depth: number): string {
    const members = new Map<string, string>();
    this.#list("}", depth, () => {
      this.#space();
      if (this.#text[this.#at] !== '"') {
        throw new SyntaxError(`no key is at ${this.#at}`);
      }
      const key = this.#string();
      if (members.has(key)) {
        throw new SyntaxError(`the key at ${this.#at} is there twice`);
      }
      this.#space();
      if (this.#text[this.#at++] !== ":") {
        throw new SyntaxError(`no colon is at ${this.#at - 1}`);
      }
      members.set(key, this.#value(depth + 1));
    });
    // The operator sorts by bytes, and JavaScript by halves of surrogate pairs.
    const keys = [...members.keys()].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    return "{" + keys.map((key) => `${quoted(key)}:${members.get(key)}`).join(",") + "}";
  }

  #items(depth: number): string {
    const items: string[] = [];
    this.#list("]", depth, () => items.push(this.#value(depth + 1)));
    return "[" + items.join(",") + "]";
  }

  /** What is between two brackets, with commas between. */
  #list(end: string, depth: number, entry: () => void): void {
    if (depth >= maxDepth) {
      throw new SyntaxError("it is nested too deeply");
    }
    this.#at++;
    this.#space();
    if (this.#text[this.#at] === end) {
      this.#at++;
      return;
    }
    for (;;) {
      entry();
      this.#space();
      const next = this.#text[this.#at++];
      if (next === end) {
        return;
      }
      if (next !== ",") {
        throw new SyntaxError(`no comma is at ${this.#at - 1}`);
      }
    }
  }

  #string(): string {
    const start = this.#at++;
    for (;;) {
      const unit = this.#text.charCodeAt(this.#at++);
      if (unit === 0x22) {
        break;
      }
      if (unit === 0x5c) {
        this.#at++;
      } else if (!(unit >= 0x20)) {
        throw new SyntaxError(`a text does not end before ${this.#at}`); // NaN is beyond the end.
      }
    }
    return whole(JSON.parse(this.#text.slice(start, this.#at)) as string);
  }

  #space(): void {
    this.#match(/[ \t\n\r]*/y);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }
}

/** Half a surrogate pair is no character. */
function whole(text: string): string {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}

const short: Readonly<Record<string, string>> = { '"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function quoted(text: string): string {
  const escaped = whole(text).replace(/["\\\u0000-\u001f\u2028\u2029]/g, (c) => short[c] ?? "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  return `"${escaped}"`;
}

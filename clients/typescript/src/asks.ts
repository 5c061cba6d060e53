// SPDX-License-Identifier: Apache-2.0

import type { MotorRun, MotorRunSpecResponses, PendingInput } from "./types.js";

/** Names an ask of exactly one run. A program that keeps it as text makes it again of the three texts. */
export interface AskRef {
  /** The name of the run. After its deletion another run can have it, which can ask under the same id, as in retry-1. */
  readonly run: string;
  /** metadata.uid of the run that was shown. */
  readonly uid: string;
  readonly id: string;
}

/** Something that a run waits for. */
export interface Ask extends AskRef {
  readonly namespace: string;
  readonly kind: PendingInput["kind"];
  /** The question. A model wrote it. */
  readonly question: string;
  /** The answers that the model proposes. */
  readonly options: readonly string[];
  /** The digest of the call that is to be approved, "" for another kind. */
  readonly digest: string;
  /** All of it, as status.pendingInputs has it. */
  readonly input: PendingInput;
}

/** What a run waits for that has no answer yet. The operator takes a moment to mark an ask as answered. */
export function asksOf(namespace: string, run: MotorRun): Ask[] {
  return (run.status?.pendingInputs ?? [])
    .filter((input) => !input.answered && !responseTo(run, input.id))
    .map((input) => ({
      run: run.metadata.name,
      uid: run.metadata.uid,
      id: input.id,
      namespace,
      kind: input.kind,
      question: input.question ?? "",
      options: input.options ?? [],
      digest: input.action?.argsDigest ?? "",
      input,
    }));
}

/** The answer that an ask was given. */
export function responseTo(run: MotorRun, id: string): MotorRunSpecResponses | undefined {
  return run.spec.responses?.find((response) => response.id === id);
}

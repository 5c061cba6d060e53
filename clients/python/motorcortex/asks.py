# SPDX-License-Identifier: Apache-2.0
"""What runs ask."""

from dataclasses import dataclass
from typing import Literal

from .types import MotorRun, MotorRunSpecResponses, PendingInput


@dataclass(frozen=True)
class AskRef:
    """Names an ask of exactly one run. A program that keeps it as text makes it again of the three texts.

    run is a name, which another run has after the deletion of this one; that one can ask under the same id, as in retry-1. uid is metadata.uid of the run
    that was shown.
    """

    run: str
    uid: str
    id: str

    def __post_init__(self) -> None:
        for field, value in (("run", self.run), ("uid", self.uid), ("id", self.id)):
            if not isinstance(value, str) or not value:
                raise ValueError(f"the {field} of an ask is {value!r}: take the run, the uid and the id of the ask that was shown")


@dataclass(frozen=True)
class Ask(AskRef):
    """Something that a run waits for."""

    namespace: str
    kind: Literal["Question", "Approval", "DomainRequest", "OutcomeUnknown", "Retry", "BudgetExhausted"]
    input: PendingInput

    @property
    def question(self) -> str:
        """The question. A model wrote it."""
        return self.input.get("question", "")

    @property
    def options(self) -> list[str]:
        """The answers that the model proposes."""
        return list(self.input.get("options", []))

    @property
    def digest(self) -> str:
        """The digest of the call that is to be approved, "" for another kind."""
        action = self.input.get("action")
        return action.get("argsDigest", "") if action else ""


def asks_of(namespace: str, run: MotorRun) -> list[Ask]:
    """Returns what a run waits for that has no answer yet. The operator takes a moment to mark an ask as answered."""
    name, uid = run["metadata"]["name"], run["metadata"]["uid"]
    return [
        Ask(name, uid, p["id"], namespace, p["kind"], p)
        for p in run.get("status", {}).get("pendingInputs", [])
        if not p.get("answered") and not response_to(run, p["id"])
    ]


def response_to(run: MotorRun, id: str) -> MotorRunSpecResponses | None:
    """Returns the answer that an ask was given."""
    return next((r for r in run["spec"].get("responses", []) if r["id"] == id), None)


def place_of(run: MotorRun, id: str) -> int:
    """Returns the index of an ask in the status, -1 if it is not there."""
    return next((i for i, p in enumerate(run.get("status", {}).get("pendingInputs", [])) if p["id"] == id), -1)

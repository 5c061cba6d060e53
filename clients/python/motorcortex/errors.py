# SPDX-License-Identifier: Apache-2.0
"""The errors of the package. Each says what was refused, where, and what to do."""

from collections.abc import Sequence


class MotorCortexError(Exception):
    """The base of all errors here."""


class NotFound(MotorCortexError):
    """There is no such run."""


class Gone(MotorCortexError):
    """The run that was followed, or that asked, was deleted. Another one may have its name."""


class Refused(MotorCortexError):
    """The cluster, or a check before the request, refused it. Nothing was decided."""


class NotAsked(MotorCortexError):
    """The run does not ask that now."""


class AlreadyAnswered(NotAsked):
    """Another answer came first. same is true if that one says the same: an earlier try of the program can have sent it."""

    def __init__(self, message: str, same: bool = False) -> None:
        super().__init__(message)
        self.same = same


class BusyError(MotorCortexError):
    """The namespace has no place for a run. runs hold the places, or wait for one before it: the oldest first, eight at most."""

    def __init__(self, namespace: str, runs: Sequence[str]) -> None:
        super().__init__(
            f"Motor Cortex is busy in the namespace {namespace} (run {', '.join(runs)}): wait until it has ended, cancel it, or give queue=True where runs may wait",
        )
        self.namespace, self.runs = namespace, list(runs)


class Timeout(MotorCortexError):
    """The time is over. The run goes on."""


class Unreadable(MotorCortexError):
    """An answer is none of an API server: it is broken, or a proxy gave it."""

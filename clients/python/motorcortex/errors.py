# SPDX-License-Identifier: Apache-2.0
"""The errors of the package. Each says what was refused, where, and what to do."""


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


class Timeout(MotorCortexError):
    """The time is over. The run goes on."""


class Unreadable(MotorCortexError):
    """An answer is none of an API server: it is broken, or a proxy gave it."""

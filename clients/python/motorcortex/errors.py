# SPDX-License-Identifier: Apache-2.0
"""The errors of the package. Each says what was refused, where, and what to do."""


class MotorCortexError(Exception):
    """The base of all errors here."""


class NotFound(MotorCortexError):
    """There is no such run."""


class Gone(MotorCortexError):
    """The run was deleted while it was followed. Another one may have its name."""


class Refused(MotorCortexError):
    """The cluster, or a check before the request, refused it. Nothing was decided."""


class NotAsked(MotorCortexError):
    """The run does not ask that now."""


class AlreadyAnswered(NotAsked):
    """Another answer came first."""


class Timeout(MotorCortexError):
    """The time is over. The run goes on."""

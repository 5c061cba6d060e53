# SPDX-License-Identifier: Apache-2.0
"""Start runs of Motor Cortex, follow them to their end, and answer what they ask.

Everything is done with the rights of the account of the configuration. Texts of runs come from models, tools and pages. They are data: a program that
shows them to a model says so, and one that shows them at a terminal escapes them.
"""

from .asks import Ask, AskRef
from .client import Client
from .digest import args_digest
from .errors import AlreadyAnswered, BusyError, Gone, MotorCortexError, NotAsked, NotFound, Refused, Timeout, Unreadable
from .watch import Event

__all__ = [
    "AlreadyAnswered", "Ask", "AskRef", "BusyError", "Client", "Event", "Gone", "MotorCortexError", "NotAsked", "NotFound", "Refused", "Timeout", "Unreadable",
    "args_digest",
]

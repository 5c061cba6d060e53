# SPDX-License-Identifier: Apache-2.0
"""Whether the namespace has a place for one more run."""

from collections.abc import Iterator
from typing import Any, cast

from .errors import BusyError
from .refused import refused
from .transport import Failure, Transport
from .types import MotorCortex, MotorRun

# The most runs that a BusyError names.
_MOST = 8


def check_place(transport: Transport, runs: Iterator[MotorRun], queue: bool) -> None:
    """Raises BusyError if the MotorCortex of the namespace has no place for a run now. queue accepts to wait for one, where the MotorCortex lets runs wait.

    runs are those of the namespace, which are read only if there is a bound.
    """
    try:
        cortex = cast(MotorCortex, transport.get("motorcortices", "default"))
    except Failure as failure:
        if failure.status in (403, 404):
            # Without one there is no bound. What an account may not read, the operator decides by.
            return
        raise refused(f"get the MotorCortex of the namespace {transport.namespace}", failure, "motorcortex-viewer", transport.namespace) from failure
    bound = cortex["spec"].get("concurrency")
    if bound is None or queue and bound.get("whenBusy") != "Reject":
        return
    taken = sorted((run["metadata"].get("creationTimestamp", ""), run["metadata"]["name"]) for run in runs if takes_place(run))
    if len(taken) >= max(bound.get("maxActive", 1), 1):
        raise BusyError(transport.namespace, [name for _, name in taken[:_MOST]])


def takes_place(run: MotorRun) -> bool:
    """Returns whether a run has a place, or takes one when the operator looks at it."""
    spec, status = run["spec"], run.get("status", {})
    if spec.get("mode") in ("Oneshot", "Install") or run["metadata"].get("deletionTimestamp") or status.get("completionTime"):
        return False
    conditions: list[Any] = list(status.get("conditions") or [])
    if any(condition.get("type") == "Accepted" and condition.get("status") == "True" for condition in conditions):
        return True
    return not spec.get("suspend") and not spec.get("cancel") and spec.get("origin") != "Copied"

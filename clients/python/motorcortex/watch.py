# SPDX-License-Identifier: Apache-2.0
"""Following a run until its end."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from .asks import Ask, asks_of
from .errors import Gone, Timeout
from .refused import refused
from .transport import Failure, Transport
from .types import MotorRun

# How long an API server may be away before that ends a watch, and the pause between two looks. Seconds.
PATIENCE, PAUSE = 60.0, 1.0

# How long a run is not read while no event tells of a change: a connection can be dead without an error. Seconds.
QUIET = 30.0


@dataclass(frozen=True)
class Event:
    """Something that happened to a run: what changed, and the run as it was then."""

    type: Literal["Changed", "Asked", "Answered", "Ended"]
    run: MotorRun
    ask: Ask | None = None


class Watcher:
    """Follows a run. A program that uses Client.watch does not need it."""

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport, self._name, self._seen = transport, name, _Seen(transport.namespace)
        self._failing: float | None = None

    @property
    def ended(self) -> bool:
        """Whether the last event was that of the end."""
        return self._seen.ended

    def over(self) -> Timeout:
        """The error of a time that is over."""
        return Timeout(f"the time to wait for the run {self._name} is over: it goes on. Wait for it again later, or look at its status")

    def look(self) -> list[Event]:
        """Reads the run, and returns what is new. It takes the time of one request."""
        try:
            return list(self._look()[1])
        except Failure as failure:
            self._failed(failure)
            return []

    def next(self, seconds: float) -> Iterator[Event]:
        """Reads the run, and yields the events of so many seconds, at most up to the end."""
        transport = self._transport
        until = transport.clock() + seconds
        try:
            run, events = self._look()
            yield from events
            if self.ended:
                return
            for type, seen in transport.watch("motorruns", self._name, run["metadata"]["resourceVersion"], until - transport.clock()):
                if type == "ERROR":
                    return  # The version is too old, or the server has a problem: what is new is found by reading.
                self._failing = None
                if type == "DELETED":
                    raise Gone(f"the run {self._name} was deleted")
                if type in ("ADDED", "MODIFIED"):
                    yield from self._seen.tell(cast(MotorRun, seen))
                if self.ended:
                    return
        except Failure as failure:
            self._failed(failure)

    def _look(self) -> tuple[MotorRun, Iterator[Event]]:
        # Whoever follows asks again: the transport must not do the same below.
        run = cast(MotorRun, self._transport.get("motorruns", self._name, tries=1))
        self._failing = None
        return run, self._seen.tell(run)

    def _failed(self, failure: Failure) -> None:
        """Raises an error for what does not pass by itself, or has not for too long."""
        if failure.status == 404 and self._seen.uid:
            raise Gone(f"the run {self._name} was deleted") from failure
        now = self._transport.clock()
        if self._failing is None:
            self._failing = now
        if failure.status in (401, 403, 404) or now - self._failing > PATIENCE:
            raise refused(f"watch the run {self._name}", failure, "motorcortex-viewer", self._transport.namespace) from failure


class _Seen:
    """Tells what is new of a run."""

    def __init__(self, namespace: str) -> None:
        self.namespace, self.uid, self.ended = namespace, "", False
        self._state: tuple[Any, ...] = ()
        self._asked: dict[str, Ask] = {}

    def tell(self, run: MotorRun) -> Iterator[Event]:
        name, uid, status = run["metadata"]["name"], run["metadata"]["uid"], run.get("status", {})
        if self.uid and self.uid != uid:
            raise Gone(f"the run {name} was deleted, and there is another one of its name")
        self.uid = uid
        ended = bool(status.get("completionTime"))
        state = (status.get("phase"), status.get("reason"), status.get("steps"))
        if state != self._state or not self._state:
            self._state = state
            if not ended:
                yield Event("Changed", run)
        now = {ask.id: ask for ask in asks_of(self.namespace, run)}
        before, self._asked = self._asked, now
        for id in now.keys() - before.keys():
            yield Event("Asked", run, now[id])
        for id in before.keys() - now.keys():
            yield Event("Answered", run, before[id])
        if ended:
            self.ended = True
            yield Event("Ended", run)

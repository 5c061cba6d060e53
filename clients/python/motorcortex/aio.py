# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio. The official client is synchronous: each request is made in a thread."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Literal

from . import client
from .client import Ask, Event
from .errors import MotorCortexError, Timeout
from .types import MotorRun

# How long a thread goes on at most after its task was cancelled. Seconds.
_SLICE = 5.0


class AsyncClient:
    """A client for the runs of a namespace. Its methods are those of Client."""

    def __init__(self, of: client.Client) -> None:
        self._of = of

    async def run(
        self, task: str, *, name: str = "", tools: Sequence[str] = (), domains: Sequence[str] = (), skill: str = "", inputs: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None, model: str = "", approval: Literal["", "Never", "Irreversible", "Always"] = "",
        spec: Mapping[str, Any] | None = None,
    ) -> MotorRun:
        return await asyncio.to_thread(
            self._of.run, task, name=name, tools=tools, domains=domains, skill=skill, inputs=inputs, files=files, model=model, approval=approval, spec=spec,
        )

    async def get(self, name: str) -> MotorRun:
        return await asyncio.to_thread(self._of.get, name)

    async def cancel(self, name: str) -> MotorRun:
        return await asyncio.to_thread(self._of.cancel, name)

    async def inbox(self) -> list[Ask]:
        return await asyncio.to_thread(self._of.inbox)

    def asks(self, run: MotorRun) -> list[Ask]:
        return self._of.asks(run)

    async def wait(self, name: str, *, until_asked: bool = False, timeout: float | None = None) -> MotorRun:
        async for event in self.watch(name, timeout=timeout):
            if event.type == "Ended" or until_asked and self.asks(event.run):
                return event.run
        raise MotorCortexError(f"the watch of the run {name} ended without an event")

    async def watch(self, name: str, *, timeout: float | None = None) -> AsyncIterator[Event]:
        """Yields what Client.watch does. A thread of a task that is cancelled ends within some seconds."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        watcher = client.Watcher(self._of, name)
        while not watcher.ended:
            left = _SLICE if deadline is None else deadline - loop.time()
            if left <= 0:
                raise Timeout(f"the time to wait for the run {name} is over: it goes on. Wait for it again later, or look at its status")
            events = watcher.next(min(left, _SLICE))
            while (event := await asyncio.to_thread(_next, events)) is not None:
                yield event

    async def answer(self, name: str, id: str, answer: str) -> MotorRun:
        return await asyncio.to_thread(self._of.answer, name, id, answer)

    async def approve(self, name: str, id: str, digest: str, *, whole_run: bool = False, reason: str = "") -> MotorRun:
        return await asyncio.to_thread(self._of.approve, name, id, digest, whole_run=whole_run, reason=reason)

    async def deny(self, name: str, id: str, digest: str = "", *, reason: str = "") -> MotorRun:
        return await asyncio.to_thread(self._of.deny, name, id, digest, reason=reason)

    async def allow_domain(self, name: str, id: str, *, whole_run: bool = False, reason: str = "") -> MotorRun:
        return await asyncio.to_thread(self._of.allow_domain, name, id, whole_run=whole_run, reason=reason)

    async def settle(self, name: str, id: str, decision: Literal["Retry", "Done", "Skip"], *, reason: str = "") -> MotorRun:
        return await asyncio.to_thread(self._of.settle, name, id, decision, reason=reason)

    async def retry(self, name: str, id: str, guidance: str = "", *, domains: Sequence[str] = ()) -> MotorRun:
        return await asyncio.to_thread(self._of.retry, name, id, guidance, domains=domains)

    async def stop(self, name: str, id: str, *, reason: str = "") -> MotorRun:
        return await asyncio.to_thread(self._of.stop, name, id, reason=reason)

    async def arguments(self, ask: Ask) -> str:
        return await asyncio.to_thread(self._of.arguments, ask)

    async def act(
        self, task: str, source: str, language: Literal["javascript", "python"] = "javascript", *, domains: Sequence[str] = (), timeout: float = 120,
    ) -> dict[str, Any]:
        run = await asyncio.to_thread(self._of._act, task, source, language, domains)
        return client._acted(await self.wait(run["metadata"]["name"], timeout=timeout))


def _next(events: Iterator[Event]) -> Event | None:
    return next(events, None)

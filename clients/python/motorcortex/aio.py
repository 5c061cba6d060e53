# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio. The official client is synchronous: each request is made in a thread, and in none of those of asyncio."""

import asyncio
import contextlib
import contextvars
import math
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Literal, ParamSpec, TypeVar

from .asks import Ask, AskRef
from .client import Client, _acted
from .errors import MotorCortexError
from .types import MotorRun
from .watch import PAUSE, Event, Watcher

# How long a thread goes on at most after its task was cancelled. Seconds.
_SLICE = 5.0

# The most requests at once, and the most watches. Waits beyond these hold no thread: they read their run again and again.
_REQUESTS, _WATCHES = 8, 8

# How many times a second such waits read, all together.
_READS = 20.0

_P = ParamSpec("_P")
_T = TypeVar("_T")


class AsyncClient:
    """A client for the runs of a namespace. Its methods are those of Client.

    It has at most 16 threads, which end with "async with", or with close.
    """

    def __init__(self, of: Client) -> None:
        self._of = of
        # A watch holds its thread for seconds: an answer must not wait for it.
        self._requests = ThreadPoolExecutor(_REQUESTS, "motorcortex-request")
        self._watches = ThreadPoolExecutor(_WATCHES, "motorcortex-watch")
        self._watching = 0
        # Those that read instead, until they are not used any more.
        self._reading: weakref.WeakSet[Watcher] = weakref.WeakSet()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the threads when what they do has ended. Nothing can be asked of the client any more."""
        for pool in (self._requests, self._watches):
            pool.shutdown(wait=False, cancel_futures=True)

    async def run(
        self, task: str, *, name: str = "", tools: Sequence[str] = (), domains: Sequence[str] = (), skill: str = "", inputs: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None, model: str = "", approval: Literal["", "Never", "Irreversible", "Always"] = "",
        spec: Mapping[str, Any] | None = None, queue: bool = True,
    ) -> MotorRun:
        return await self._do(
            self._of.run, task, name=name, tools=tools, domains=domains, skill=skill, inputs=inputs, files=files, model=model, approval=approval, spec=spec,
            queue=queue,
        )

    async def get(self, name: str) -> MotorRun:
        return await self._do(self._of.get, name)

    async def runs(self) -> AsyncIterator[MotorRun]:
        """Yields the runs of the namespace. It reads 500 in a request."""
        token = ""
        while True:
            page, token = await self._do(self._of._page, token)
            for run in page:
                yield run
            if not token:
                return

    async def cancel(self, name: str) -> MotorRun:
        return await self._do(self._of.cancel, name)

    async def inbox(self) -> list[Ask]:
        return await self._do(self._of.inbox)

    def asks(self, run: MotorRun) -> list[Ask]:
        return self._of.asks(run)

    async def wait(self, name: str, *, until_asked: bool = False, timeout: float | None = None) -> MotorRun:
        async with contextlib.aclosing(self.watch(name, timeout=timeout)) as events:
            async for event in events:
                if event.type == "Ended" or until_asked and self.asks(event.run):
                    return event.run
        raise MotorCortexError(f"the watch of the run {name} ended without an event")

    async def watch(self, name: str, *, timeout: float | None = None) -> AsyncGenerator[Event, None]:
        """Yields what Client.watch does. A thread of a task that is cancelled ends within some seconds.

        The first eight hear of a change at once. Further ones read their run each second, and more seldom if they are over twenty.
        """
        loop = asyncio.get_running_loop()
        deadline = math.inf if timeout is None else loop.time() + timeout
        watcher = Watcher(self._of._transport, name)
        while not watcher.ended:
            left = deadline - loop.time()
            if left <= 0:
                raise watcher.over()
            if self._watching < _WATCHES:
                pause = PAUSE
                self._reading.discard(watcher)
                self._watching += 1
                try:
                    events = watcher.next(min(left, _SLICE))
                    while (event := await self._within(self._watches, _next, events)) is not None:
                        yield event
                finally:
                    self._watching -= 1
            else:
                pause = max(PAUSE, len(self._reading) / _READS)
                self._reading.add(watcher)
                for event in await self._do(watcher.look):
                    yield event
            if not watcher.ended:
                await asyncio.sleep(min(pause, max(0.0, deadline - loop.time())))

    async def answer(self, ask: AskRef, answer: str) -> MotorRun:
        return await self._do(self._of.answer, ask, answer)

    async def approve(self, ask: AskRef, digest: str, *, whole_run: bool = False, reason: str = "") -> MotorRun:
        return await self._do(self._of.approve, ask, digest, whole_run=whole_run, reason=reason)

    async def deny(self, ask: AskRef, digest: str = "", *, reason: str = "") -> MotorRun:
        return await self._do(self._of.deny, ask, digest, reason=reason)

    async def allow_domain(self, ask: AskRef, *, whole_run: bool = False, reason: str = "") -> MotorRun:
        return await self._do(self._of.allow_domain, ask, whole_run=whole_run, reason=reason)

    async def settle(self, ask: AskRef, decision: Literal["Retry", "Done", "Skip"], *, reason: str = "") -> MotorRun:
        return await self._do(self._of.settle, ask, decision, reason=reason)

    async def retry(self, ask: AskRef, guidance: str = "", *, domains: Sequence[str] = ()) -> MotorRun:
        return await self._do(self._of.retry, ask, guidance, domains=domains)

    async def stop(self, ask: AskRef, *, reason: str = "") -> MotorRun:
        return await self._do(self._of.stop, ask, reason=reason)

    async def arguments(self, ask: Ask) -> str:
        return await self._do(self._of.arguments, ask)

    async def act(
        self, task: str, source: str, language: Literal["javascript", "python"] = "javascript", *, domains: Sequence[str] = (), timeout: float = 120,
    ) -> dict[str, Any]:
        run = await self._do(self._of._act, task, source, language, domains)
        return _acted(await self.wait(run["metadata"]["name"], timeout=timeout))

    async def _do(self, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await self._within(self._requests, call, *args, **kwargs)

    async def _within(self, pool: Executor, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(pool, lambda: context.run(call, *args, **kwargs))


def _next(events: Iterator[Event]) -> Event | None:
    return next(events, None)

# SPDX-License-Identifier: Apache-2.0

import asyncio
import concurrent.futures
import threading
import unittest
from typing import Any
from unittest import mock

from rig import APPROVAL, QUESTION, Rig, a_run, an_ask

from motorcortex import Event, Timeout
from motorcortex.aio import AsyncClient

# PATIENCE is longer than anything here takes on a slow machine. Seconds.
PATIENCE = 60


class Hanging:
    """The answer to a watch that tells nothing until it is let go."""

    def __init__(self, free: threading.Event) -> None:
        self._free = free

    def stream(self, **_: Any) -> Any:
        self._free.wait(PATIENCE)
        return iter(())

    def close(self) -> None:
        pass

    def release_conn(self) -> None:
        pass


class Asyncio(Rig):
    def test_it_does_what_the_client_does(self) -> None:
        self.has(a_run())
        self.streams = [[a_run(QUESTION), a_run(completionTime="t")]]
        self.pages = [{"items": [a_run(QUESTION)], "metadata": {"continue": "c"}}, {"items": [a_run(APPROVAL)], "metadata": {}}]

        async def all_of_it() -> None:
            async with AsyncClient(self.client) as client:
                events: list[Event] = [event async for event in client.watch("a")]
                self.assertEqual([event.type for event in events], ["Changed", "Asked", "Answered", "Ended"])
                runs = [run async for run in client.runs()]
                self.assertEqual([ask.id for run in runs for ask in client.asks(run)], ["q", "p"])
                self.has(a_run(QUESTION))
                await client.answer(an_ask(), "x")
                self.assertEqual((await client.wait("a", until_asked=True))["metadata"]["name"], "a")

        asyncio.run(all_of_it())
        self.assertEqual(self.sent()[2]["value"]["answer"], "x")

    def test_the_time_is_over(self) -> None:
        self.has(a_run())

        async def waits() -> None:
            async with AsyncClient(self.client) as client:
                with self.assertRaisesRegex(Timeout, "it goes on"):
                    await client.wait("a", timeout=0.05)

        asyncio.run(waits())

    def test_many_waits_leave_threads_for_answers_and_for_asyncio(self) -> None:
        free, ended = threading.Event(), threading.Event()
        self.api.get_namespaced_custom_object.side_effect = lambda *_, **__: a_run(completionTime="t") if ended.is_set() else a_run(QUESTION)
        self.api.list_namespaced_custom_object.side_effect = lambda *_, **__: Hanging(free)

        async def waits() -> None:
            asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(2))
            async with AsyncClient(self.client) as client:
                before = threading.active_count()
                tasks = [asyncio.create_task(client.wait("a")) for _ in range(40)]
                async with asyncio.timeout(PATIENCE):
                    while self.api.list_namespaced_custom_object.call_count < 8:
                        await asyncio.sleep(0.01)
                    await client.answer(an_ask(), "x")
                    self.assertEqual(await asyncio.to_thread(lambda: 1), 1)
                    self.assertLess(threading.active_count() - before, 20)
                    # Those without a watch find the end by reading.
                    ended.set()
                    while sum(task.done() for task in tasks) < 32:
                        await asyncio.sleep(0.01)
                    self.assertEqual(sum(task.done() for task in tasks), 32)
                    free.set()
                    await asyncio.gather(*tasks)

        with mock.patch("motorcortex.aio.PAUSE", 0.01):
            try:
                asyncio.run(waits())
            finally:
                free.set()


if __name__ == "__main__":
    unittest.main()

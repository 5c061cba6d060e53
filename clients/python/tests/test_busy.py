# SPDX-License-Identifier: Apache-2.0

import asyncio
import unittest
from typing import Any

from rig import Rig, a_run, refusal

from motorcortex import BusyError, MotorCortexError, Unreadable
from motorcortex.aio import AsyncClient

ACCEPTED = {"conditions": [{"type": "Accepted", "status": "True"}]}


def a_cortex(**concurrency: Any) -> dict[str, Any]:
    return {"metadata": {"name": "default", "uid": "c", "resourceVersion": "1"}, "spec": {"concurrency": concurrency} if concurrency else {}}


def named(name: str, created: str = "2026-01-02T00:00:00Z", spec: Any = None, metadata: Any = None, **status: Any) -> dict[str, Any]:
    run = a_run(**status)
    run["metadata"] |= {"name": name, "creationTimestamp": created} | (metadata or {})
    run["spec"] |= spec or {}
    return run


class Busy(Rig):
    def setUp(self) -> None:
        super().setUp()
        self.create = self.api.create_namespaced_custom_object
        self.create.return_value = a_run()

    def test_a_namespace_that_is_busy(self) -> None:
        held, older = named("a", **ACCEPTED), named("b", created="2026-01-01T00:00:00Z", **ACCEPTED)
        ended, queued = named("c", completionTime="t", **ACCEPTED), named("d")
        for name, cortex, queue, runs, want in (
            ("no MotorCortex", None, False, [held], []),
            ("no bound", a_cortex(), False, [held], []),
            ("a place", a_cortex(maxActive=2), False, [held], []),
            ("none", a_cortex(maxActive=1, whenBusy="Queue"), False, [held, ended, older], ["b", "a"]),
            ("the bound that is meant", a_cortex(whenBusy="Queue"), False, [held], ["a"]),
            ("it waits by choice", a_cortex(maxActive=1, whenBusy="Queue"), True, [held], []),
            ("it may not wait", a_cortex(maxActive=1, whenBusy="Reject"), True, [held], ["a"]),
            ("it was just created", a_cortex(maxActive=1), False, [queued], ["d"]),
            ("it has ended", a_cortex(maxActive=1), False, [ended], []),
            ("it is a program", a_cortex(maxActive=1), False, [named("a", spec={"mode": "Oneshot"}, **ACCEPTED)], []),
            ("it is deleted", a_cortex(maxActive=1), False, [named("a", metadata={"deletionTimestamp": "t"}, **ACCEPTED)], []),
            ("it never began", a_cortex(maxActive=1), False, [named("a", spec={"suspend": True})], []),
            ("it is a copy", a_cortex(maxActive=1), False, [named("a", spec={"origin": "Copied"})], []),
            ("it is suspended", a_cortex(maxActive=1), False, [named("a", spec={"suspend": True}, **ACCEPTED)], ["a"]),
            ("many", a_cortex(maxActive=1), False, [named(f"r{i}") for i in range(9)], [f"r{i}" for i in range(8)]),
        ):
            with self.subTest(name):
                self.cortex, self.pages = cortex, [{"items": runs, "metadata": {}}]
                self.create.reset_mock()
                if not want:
                    self.client.run("x", queue=queue)
                    self.create.assert_called_once()
                    continue
                with self.assertRaisesRegex(BusyError, rf"busy in the namespace ns \(run {', '.join(want)}\)") as busy:
                    self.client.run("x", queue=queue)
                self.assertEqual((busy.exception.namespace, busy.exception.runs), ("ns", want))
                self.create.assert_not_called()

    def test_what_cannot_be_read(self) -> None:
        self.cortex = refusal(403, "may not")
        self.client.run("x", queue=False)
        self.cortex = refusal(500, "away")
        with self.assertRaisesRegex(MotorCortexError, "get the MotorCortex of the namespace ns: away"):
            self.client.run("x")
        for broken in (a_run() | {"spec": 3}, a_cortex() | {"spec": {"concurrency": 3}}, a_cortex(maxActive="many"), "<html>"):
            self.cortex = broken
            with self.assertRaisesRegex(Unreadable, "get the MotorCortex"):
                self.client.run("x")

    def test_a_program_needs_no_place(self) -> None:
        self.cortex = a_cortex(maxActive=1, whenBusy="Reject")
        self.client.run("x", queue=False, spec={"mode": "Oneshot"})
        self.create.assert_called_once()

    def test_asyncio(self) -> None:
        self.cortex, self.pages = a_cortex(maxActive=1), [{"items": [named("a", **ACCEPTED)], "metadata": {}}]

        async def starts() -> None:
            async with AsyncClient(self.client) as client:
                with self.assertRaises(BusyError):
                    await client.run("x", queue=False)

        asyncio.run(starts())


if __name__ == "__main__":
    unittest.main()

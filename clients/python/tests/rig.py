# SPDX-License-Identifier: Apache-2.0
"""A client with a played API."""

import json
import unittest
from collections.abc import Iterator
from typing import Any
from unittest import mock

import kubernetes.client

from motorcortex import AskRef, Client, args_digest

QUESTION = {"id": "q", "kind": "Question", "question": "Which?"}
APPROVAL = {
    "id": "p", "kind": "Approval", "stepName": "s",
    "action": {"tool": "bash", "arguments": '{"command":"ls"}', "argsDigest": args_digest("bash", '{"command":"ls"}')},
}
DIGEST = APPROVAL["action"]["argsDigest"]


def a_run(*inputs: dict[str, Any], uid: str = "u", responses: Any = (), **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "uid": uid, "resourceVersion": "1"}, "spec": {"task": "x", "responses": list(responses)},
        "status": {"phase": "Running", "reason": "Running", "pendingInputs": list(inputs)} | status,
    }


def a_step(arguments: str | None, call: str = "c") -> dict[str, Any]:
    return {
        "metadata": {"name": "s", "uid": "v", "resourceVersion": "1"}, "status": {"asks": [{"id": "p", "callID": call}]},
        "spec": {"toolCalls": [{"id": "c"} | ({} if arguments is None else {"arguments": arguments})]},
    }


def an_ask(id: str = "q", uid: str = "u") -> AskRef:
    return AskRef("a", uid, id)


def refusal(status: int, message: str) -> kubernetes.client.ApiException:
    error = kubernetes.client.ApiException(status=status, reason="reason")
    error.body = json.dumps({"message": message})
    return error


class Stream:
    """The answer to a watch. A dict is an object or an event, bytes are as they are, and an error ends it."""

    def __init__(self, rig: "Rig", events: list[Any]) -> None:
        self._rig, self._events = rig, events
        self.closed = False

    def stream(self, **_: Any) -> Iterator[bytes]:
        for event in self._events:
            if isinstance(event, Exception):
                self._rig.now += 10
                raise event
            if isinstance(event, dict):
                event = json.dumps(event if "type" in event else {"type": "MODIFIED", "object": event}).encode() + b"\n"
            yield event
        self._rig.now += 10

    def close(self) -> None:
        self.closed = True

    def release_conn(self) -> None:
        pass


class Rig(unittest.TestCase):
    """A client whose official client is played, and a clock that goes on by sleeping. pages are lists of runs, and streams answers to watches."""

    def setUp(self) -> None:
        self.now = 0.0
        self.client = Client("ns", kubernetes.client.Configuration(), clock=lambda: self.now, sleep=self.sleep)
        self.api = mock.Mock()
        self.client._transport._api = self.api
        # Nothing but a test of it reads the configuration again.
        self.client._transport._connect = lambda: self.api  # type: ignore[method-assign]
        self.patch = self.api.api_client.call_api
        self.patch.side_effect = lambda *_, **__: a_run()
        self.pages: list[Any] = []
        self.streams: list[list[Any]] = []
        self.begun: list[Stream] = []
        self.api.list_namespaced_custom_object.side_effect = self.lists
        # The MotorCortex of the namespace, None if it has none.
        self.cortex: Any = None
        self.has(None)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def lists(self, *_: Any, watch: bool = False, **__: Any) -> Any:
        if not watch:
            return self.pages.pop(0)
        events = self.streams.pop(0) if self.streams else []
        if events and isinstance(events[0], kubernetes.client.ApiException):
            raise events[0]
        self.begun.append(Stream(self, events))
        return self.begun[-1]

    def has(self, run: Any) -> None:
        self.api.get_namespaced_custom_object.side_effect = lambda *args, **_: self.bounds() if args[3] == "motorcortices" else run

    def bounds(self) -> Any:
        if self.cortex is None:
            raise refusal(404, "there is none")
        if isinstance(self.cortex, Exception):
            raise self.cortex
        return self.cortex

    def has_step(self, run: Any, step: Any) -> None:
        self.api.get_namespaced_custom_object.side_effect = lambda *args, **_: run if args[3] == "motorruns" else step

    def reads(self, *results: Any) -> None:
        self.api.get_namespaced_custom_object.side_effect = list(results)

    def sent(self) -> Any:
        return self.patch.call_args.kwargs["body"]

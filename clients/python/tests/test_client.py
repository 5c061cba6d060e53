# SPDX-License-Identifier: Apache-2.0

import asyncio
import copy
import json
import unittest
from typing import Any
from unittest import mock

import kubernetes.client
import urllib3.exceptions

from motorcortex import AlreadyAnswered, Client, Event, Gone, MotorCortexError, NotAsked, NotFound, Refused, Timeout, args_digest
from motorcortex.aio import AsyncClient


def a_run(*inputs: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}, "spec": {"task": "x", "responses": []},
        "status": {"phase": "Running", "reason": "Running", "pendingInputs": list(inputs)} | status,
    }


def refusal(status: int, message: str) -> kubernetes.client.ApiException:
    error = kubernetes.client.ApiException(status=status, reason="reason")
    error.body = json.dumps({"message": message})
    return error


QUESTION = {"id": "q", "kind": "Question", "question": "Which?"}
APPROVAL = {
    "id": "p", "kind": "Approval", "stepName": "s",
    "action": {"tool": "bash", "arguments": '{"command":"ls"}', "argsDigest": args_digest("bash", '{"command":"ls"}')},
}
DIGEST = APPROVAL["action"]["argsDigest"]


class Rig(unittest.TestCase):
    """A client with a played API, and a clock that goes on by sleeping."""

    def setUp(self) -> None:
        self.now = 0.0
        self.client = Client("ns", kubernetes.client.Configuration(), clock=lambda: self.now, sleep=self.sleep)
        self.api = mock.Mock()
        self.client._api = self.api
        self.patch = self.api.api_client.call_api
        self.patch.side_effect = lambda *_, **kwargs: kwargs["body"]

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def has(self, run: Any) -> None:
        self.api.get_namespaced_custom_object.side_effect = None
        self.api.get_namespaced_custom_object.return_value = run

    def sent(self) -> Any:
        return self.patch.call_args.kwargs["body"]


class Answers(Rig):
    def test_an_answer_names_the_run_and_the_ask(self) -> None:
        self.has(a_run({"id": "other", "kind": "Retry"}, QUESTION))
        self.client.answer("a", "q", "blue")
        self.assertEqual(self.sent(), [
            {"op": "test", "path": "/metadata/uid", "value": "u"}, {"op": "test", "path": "/status/pendingInputs/1/id", "value": "q"},
            {"op": "add", "path": "/spec/responses/-", "value": {"id": "q", "answer": "blue"}},
        ])

    def test_it_is_a_json_patch(self) -> None:
        self.has(a_run(QUESTION))
        self.client.answer("a", "q", "blue")
        path, verb, names, _, headers = self.patch.call_args.args
        self.assertEqual((path.format(**names), verb), ("/apis/motorcortex.dev/v1alpha1/namespaces/ns/motorruns/a", "PATCH"))
        self.assertEqual(headers["Content-Type"], "application/json-patch+json")

    def test_an_approval_names_the_call(self) -> None:
        self.has(a_run(APPROVAL))
        self.client.approve("a", "p", DIGEST, whole_run=True)
        self.assertEqual(self.sent()[2]["value"], {"id": "p", "decision": "ApproveRun", "digest": DIGEST})
        for decide in (self.client.approve, self.client.deny):
            with self.assertRaisesRegex(Refused, "nothing was decided"):
                decide("a", "p", "sha256:other")

    def test_a_call_that_is_not_shown_whole_is_not_approved(self) -> None:
        action = APPROVAL["action"] | {"arguments": '{"command":"l…'}
        run = a_run(APPROVAL | {"action": action})
        step = {"status": {"asks": [{"id": "p", "callID": "c"}]}, "spec": {"toolCalls": [{"id": "c", "arguments": '{"command":"rm"}'}]}}
        self.api.get_namespaced_custom_object.side_effect = lambda *args, **_: run if args[3] == "motorruns" else step
        with self.assertRaisesRegex(Refused, "does not have the call"):
            self.client.approve("a", "p", DIGEST)
        step["spec"]["toolCalls"][0]["arguments"] = '{"command":"ls"}'
        self.client.approve("a", "p", DIGEST)
        self.assertEqual(self.client.arguments(self.client.asks(run)[0]), '{"command":"ls"}')
        self.assertEqual(self.patch.call_count, 1)
        long = json.dumps({"command": "x" * (64 << 10)})
        self.has(a_run(APPROVAL | {"action": {"tool": "bash", "arguments": long, "argsDigest": args_digest("bash", long)}}))
        with self.assertRaisesRegex(Refused, "nothing was approved"):
            self.client.approve("a", "p", args_digest("bash", long))

    def test_other_decisions(self) -> None:
        for kind, decide, want in (
            ("DomainRequest", lambda c: c.allow_domain("a", "i"), {"decision": "AllowOnce"}),
            ("DomainRequest", lambda c: c.deny("a", "i", reason="no"), {"decision": "Deny", "reason": "no"}),
            ("OutcomeUnknown", lambda c: c.settle("a", "i", "Skip"), {"decision": "Skip"}),
            ("Retry", lambda c: c.retry("a", "i", "other", domains=["x.org"]), {"decision": "Retry", "guidance": "other", "addDomains": ["x.org"]}),
            ("Retry", lambda c: c.stop("a", "i"), {"decision": "Stop"}),
        ):
            self.has(a_run({"id": "i", "kind": kind}))
            decide(self.client)
            self.assertEqual(self.sent()[2]["value"], {"id": "i"} | want)

    def test_what_is_not_asked(self) -> None:
        answered = a_run(QUESTION)
        answered["spec"]["responses"] = [{"id": "q", "respondedBy": "dana"}]
        for run, error, says in (
            (a_run(), NotAsked, "asks nothing now"), (a_run(APPROVAL), NotAsked, "it asks Approval under the id p"),
            (a_run(completionTime="t", reason="Completed"), NotAsked, r"has ended \(Completed\)"), (answered, AlreadyAnswered, "by dana"),
        ):
            self.has(run)
            with self.assertRaisesRegex(error, says):
                self.client.answer("a", "q", "x")
        self.patch.assert_not_called()

    def test_an_answer_is_sent_again_when_the_run_changed_at_the_same_time(self) -> None:
        moved = a_run({"id": "other", "kind": "Retry"}, QUESTION)
        self.api.get_namespaced_custom_object.side_effect = [a_run(QUESTION), moved]
        self.patch.side_effect = [refusal(422, "the server rejected our request"), {}]
        self.client.answer("a", "q", "x")
        self.assertEqual(self.sent()[1]["path"], "/status/pendingInputs/1/id")
        self.has(a_run(QUESTION))
        self.patch.reset_mock()
        self.patch.side_effect = refusal(409, "conflict")
        with self.assertRaisesRegex(Refused, "conflict"):
            self.client.answer("a", "q", "x")
        self.assertEqual(self.patch.call_count, 3)
        other = a_run(APPROVAL | {"action": APPROVAL["action"] | {"argsDigest": "sha256:other"}})
        self.api.get_namespaced_custom_object.side_effect = [a_run(APPROVAL), other]
        self.patch.reset_mock()
        with self.assertRaises(Refused):
            self.client.approve("a", "p", DIGEST)
        self.assertEqual(self.patch.call_count, 1)

    def test_a_call_without_arguments(self) -> None:
        digest = args_digest("bash", "")
        run = a_run(APPROVAL | {"action": {"tool": "bash", "arguments": "cut", "argsDigest": digest}})
        step = {"status": {"asks": [{"id": "p", "callID": "c"}]}, "spec": {"toolCalls": [{"id": "c"}]}}
        self.api.get_namespaced_custom_object.side_effect = lambda *args, **_: run if args[3] == "motorruns" else step
        self.assertEqual(self.client.arguments(self.client.asks(run)[0]), "")

    def test_an_answer_that_is_refused(self) -> None:
        answered = a_run(QUESTION)
        answered["spec"]["responses"] = [{"id": "q", "respondedBy": "dana"}]
        another = a_run(QUESTION)
        another["metadata"]["uid"] = "v"
        for error, now, want, says in (
            (refusal(422, "the server rejected our request"), answered, AlreadyAnswered, "by dana"),
            (refusal(422, "the server rejected our request"), a_run(), NotAsked, "asks nothing now"),
            (refusal(422, "the server rejected our request"), another, Gone, "another one of its name"),
            (refusal(403, "may not"), a_run(QUESTION), Refused, "motorcortex-responder"),
            (refusal(403, "policy x denied request: too late"), a_run(QUESTION), Refused, "answer: too late$"),
            (urllib3.exceptions.ProtocolError("gone"), a_run(QUESTION), MotorCortexError, "does not answer"),
        ):
            self.api.get_namespaced_custom_object.side_effect = [a_run(QUESTION), now]
            self.patch.side_effect = error
            with self.assertRaisesRegex(want, says):
                self.client.answer("a", "q", "x")


    def test_a_failure_of_the_server_is_no_refusal(self) -> None:
        self.has(a_run(QUESTION))
        self.patch.side_effect = refusal(504, "request did not complete")
        with self.assertRaisesRegex(MotorCortexError, "may have been done") as raised:
            self.client.answer("a", "q", "x")
        self.assertNotIsInstance(raised.exception, Refused)


class Runs(Rig):
    def test_a_run_is_created(self) -> None:
        self.api.create_namespaced_custom_object.side_effect = lambda *args, **_: args[4]
        body = self.client.run(
            "x", tools=["read"], domains=["x.org"], skill="s", inputs={"n": 3, "t": "x"}, files={"a": "b"}, model="m", approval="Always", spec={"maxAttempts": 1},
        )
        self.assertEqual(body["metadata"], {"generateName": "run-"})
        self.assertEqual(body["spec"], {
            "task": "x", "tools": ["read"], "domains": ["x.org"], "skillRef": {"name": "s"}, "inputs": [{"name": "n", "value": "3"}, {"name": "t", "value": "x"}],
            "files": [{"path": "a", "content": "b"}], "model": {"name": "m"}, "approval": {"required": "Always"}, "maxAttempts": 1,
        })
        with self.assertRaisesRegex(ValueError, "task is empty"):
            self.client.run(" ")
        self.api.create_namespaced_custom_object.side_effect = urllib3.exceptions.ProtocolError("x")
        with self.assertRaisesRegex(MotorCortexError, "may have been created"):
            self.client.run("x")

    def test_a_program_is_run(self) -> None:
        self.api.create_namespaced_custom_object.side_effect = lambda *args, **_: args[4] | {"metadata": {"name": "a"}}
        self.has(a_run(completionTime="t", result={"value": '{"ok":true,"value":42}'}))
        self.assertEqual(self.client.act("add", "return 42"), {"ok": True, "value": 42})
        spec = self.api.create_namespaced_custom_object.call_args.args[4]["spec"]
        self.assertEqual(spec, {"mode": "Oneshot", "code": {"language": "javascript", "source": "return 42", "purpose": "add"}})
        self.has(a_run(completionTime="t", reason="Timeout", message="It took too long."))
        self.assertEqual(self.client.act("add", "x"), {"ok": False, "error": {"code": "Timeout", "message": "It took too long."}})

    def test_pages(self) -> None:
        first, second = a_run(QUESTION | {"expirationTime": "2026-02"}), a_run(APPROVAL | {"expirationTime": "2026-01"})
        self.api.list_namespaced_custom_object.side_effect = [
            {"items": [first], "metadata": {"continue": "c"}}, {"items": [second, a_run()], "metadata": {}},
        ]
        self.assertEqual([ask.id for ask in self.client.inbox()], ["p", "q"])
        self.assertEqual(self.api.list_namespaced_custom_object.call_args.kwargs["_continue"], "c")

    def test_no_run(self) -> None:
        self.api.get_namespaced_custom_object.side_effect = refusal(404, "x")
        for get in (self.client.get, self.client.wait):
            with self.assertRaises(NotFound):
                get("a")

    def test_a_run_that_has_ended_is_not_cancelled(self) -> None:
        self.has(a_run(completionTime="t", reason="Completed"))
        with self.assertRaisesRegex(Refused, "has ended"):
            self.client.cancel("a")
        self.has(a_run())
        self.client.cancel("a")
        self.assertEqual(self.sent()[1], {"op": "add", "path": "/spec/cancel", "value": True})


class Watching(Rig):
    def setUp(self) -> None:
        super().setUp()
        self.streams: list[Any] = []
        stream = mock.patch("kubernetes.watch.Watch")
        self.addCleanup(stream.stop)
        stream.start().return_value.stream.side_effect = self.stream

    def stream(self, *_: Any, **__: Any) -> Any:
        events = self.streams.pop(0) if self.streams else []
        for event in events:
            if isinstance(event, Exception):
                raise event
            yield event if isinstance(event, dict) and "type" in event else {"type": "MODIFIED", "object": event}
        self.now += 10

    def types(self, **kwargs: Any) -> list[str]:
        return [event.type for event in self.client.watch("a", **kwargs)]

    def test_everything_is_told_once(self) -> None:
        self.has(a_run())
        done = a_run(completionTime="t", reason="Completed")
        self.streams = [[a_run(), a_run(QUESTION), a_run(QUESTION), a_run(steps=1)], [refusal(410, "old")], [{"type": "ERROR", "object": {}}], [done]]
        self.assertEqual(self.types(), ["Changed", "Asked", "Changed", "Answered", "Changed", "Ended"])

    def test_the_end_is_told_at_once(self) -> None:
        self.has(a_run(completionTime="t"))
        self.assertEqual(self.types(), ["Ended"])

    def test_a_wait_until_a_person_is_asked(self) -> None:
        self.has(a_run())
        self.streams = [[a_run(QUESTION)]]
        self.assertEqual(self.client.asks(self.client.wait("a", until_asked=True))[0].question, "Which?")

    def test_the_time_is_over(self) -> None:
        self.has(a_run())
        with self.assertRaisesRegex(Timeout, "it goes on"):
            self.types(timeout=25)
        self.assertLess(self.now, 60)

    def test_a_run_that_is_deleted(self) -> None:
        another = a_run()
        another["metadata"]["uid"] = "v"
        for streams in ([[{"type": "DELETED", "object": a_run()}]], [[another]]):
            self.has(a_run())
            self.streams = streams
            with self.assertRaises(Gone):
                self.types()
        self.api.get_namespaced_custom_object.side_effect = [a_run(), refusal(404, "x")]
        with self.assertRaises(Gone):
            self.types()

    def test_an_api_server_that_is_away(self) -> None:
        away = urllib3.exceptions.ProtocolError("away")
        self.api.get_namespaced_custom_object.side_effect = [away, away, a_run(completionTime="t")]
        self.assertEqual(self.types(), ["Ended"])
        self.api.get_namespaced_custom_object.side_effect = away
        with self.assertRaisesRegex(MotorCortexError, "away"):
            self.types()
        self.assertLess(self.now, 120)
        self.api.get_namespaced_custom_object.side_effect = refusal(403, "may not")
        with self.assertRaisesRegex(Refused, "motorcortex-viewer"):
            self.types()

    def test_asyncio(self) -> None:
        self.has(a_run())
        self.streams = [[a_run(QUESTION), a_run(completionTime="t")]]
        client = AsyncClient(self.client)

        async def events() -> list[Event]:
            return [event async for event in client.watch("a")]

        self.assertEqual([event.type for event in asyncio.run(events())], ["Changed", "Asked", "Answered", "Ended"])
        self.has(a_run(QUESTION))
        asyncio.run(client.answer("a", "q", "x"))
        self.assertEqual(self.sent()[2]["value"]["answer"], "x")
        self.assertEqual(copy.deepcopy(asyncio.run(client.wait("a", until_asked=True)))["metadata"]["name"], "a")


if __name__ == "__main__":
    unittest.main()

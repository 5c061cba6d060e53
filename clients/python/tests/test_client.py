# SPDX-License-Identifier: Apache-2.0

import unittest

import urllib3.exceptions
from rig import APPROVAL, QUESTION, Rig, a_run, refusal

from motorcortex import MotorCortexError, NotFound, Refused, Unreadable


class Runs(Rig):
    def setUp(self) -> None:
        super().setUp()
        self.create = self.api.create_namespaced_custom_object
        self.create.return_value = a_run()

    def body(self) -> dict[str, object]:
        body: dict[str, object] = self.create.call_args.args[4]
        return body

    def test_a_run_is_created(self) -> None:
        self.client.run(
            "x", tools=["read"], domains=["x.org"], skill="s", inputs={"n": 3, "t": "x"}, files={"a": "b"}, model="m", approval="Always", spec={"maxAttempts": 1},
        )
        self.assertEqual(self.body()["metadata"], {"generateName": "run-"})
        self.assertEqual(self.body()["spec"], {
            "task": "x", "tools": ["read"], "domains": ["x.org"], "skillRef": {"name": "s"}, "inputs": [{"name": "n", "value": "3"}, {"name": "t", "value": "x"}],
            "files": [{"path": "a", "content": "b"}], "model": {"name": "m"}, "approval": {"required": "Always"}, "maxAttempts": 1,
        })
        with self.assertRaisesRegex(ValueError, "task is empty"):
            self.client.run(" ")
        self.create.side_effect = urllib3.exceptions.ProtocolError("x")
        with self.assertRaisesRegex(MotorCortexError, "may have been created"):
            self.client.run("x")

    def test_a_text_is_no_list_of_its_characters(self) -> None:
        for call in (
            lambda: self.client.run("x", domains="a.b"), lambda: self.client.act("x", "y", domains="a.b"),
            lambda: self.client.retry(self.client.asks(a_run({"id": "r", "kind": "Retry"}))[0], domains="a.b"),
        ):
            with self.assertRaisesRegex(TypeError, r"give a list, as in domains=\['a.b'\]"):
                call()
        with self.assertRaisesRegex(TypeError, "tools is the text 'read'"):
            self.client.run("x", tools="read")
        with self.assertRaisesRegex(TypeError, "domains has 3"):
            self.client.run("x", domains=[3])  # type: ignore[list-item]
        for named in ("inputs", "files"):
            with self.assertRaisesRegex(TypeError, f"{named} is 'a'"):
                self.client.run("x", **{named: "a"})  # type: ignore[arg-type]
        self.create.assert_not_called()
        self.patch.assert_not_called()

    def test_a_program_is_run(self) -> None:
        self.has(a_run(completionTime="t", result={"value": '{"ok":true,"value":42}'}))
        self.assertEqual(self.client.act("add", "return 42"), {"ok": True, "value": 42})
        self.assertEqual(self.body()["spec"], {"mode": "Oneshot", "code": {"language": "javascript", "source": "return 42", "purpose": "add"}})
        self.has(a_run(completionTime="t", reason="Timeout", message="It took too long."))
        self.assertEqual(self.client.act("add", "x"), {"ok": False, "error": {"code": "Timeout", "message": "It took too long."}})
        for broken in ('{"ok":', "3", "[" * 100_000):
            self.has(a_run(completionTime="t", result={"value": broken}))
            with self.assertRaisesRegex(Unreadable, "the result of the run a cannot be read"):
                self.client.act("add", "x")

    def test_pages(self) -> None:
        first, second = a_run(QUESTION | {"expirationTime": "2026-02"}), a_run(APPROVAL | {"expirationTime": "2026-01"})
        self.pages = [{"items": [first], "metadata": {"continue": "c"}}, {"items": [second, a_run()], "metadata": {}}]
        self.assertEqual([ask.id for ask in self.client.inbox()], ["p", "q"])
        self.assertEqual(self.api.list_namespaced_custom_object.call_args.kwargs["_continue"], "c")

    def test_answers_that_are_none_of_an_api_server(self) -> None:
        for broken in ("<html>", None, [], {}, {"metadata": {"name": "a"}}, a_run() | {"spec": 3}, a_run({"kind": "Question"}), a_run() | {"status": []}):
            self.has(broken)
            with self.assertRaisesRegex(Unreadable, "get the run a: .*cannot be read"):
                self.client.get("a")
            self.pages = [{"items": [broken], "metadata": {}}] * 3
            with self.assertRaisesRegex(Unreadable, "list the runs of the namespace ns"):
                self.client.inbox()
        self.pages = [{"items": 3, "metadata": {}}] * 3
        with self.assertRaisesRegex(Unreadable, "no list"):
            self.client.inbox()
        self.create.return_value = "<html>"
        with self.assertRaisesRegex(Unreadable, "create a run"):
            self.client.run("x")

    def test_no_run(self) -> None:
        self.api.get_namespaced_custom_object.side_effect = refusal(404, "x")
        for get in (self.client.get, self.client.wait):
            with self.assertRaises(NotFound):
                get("a")

    def test_a_read_that_fails_within_the_server(self) -> None:
        self.api.get_namespaced_custom_object.side_effect = refusal(503, "busy")
        with self.assertRaisesRegex(MotorCortexError, r"get the run a: busy\. Try again$"):
            self.client.get("a")
        self.assertEqual(self.api.get_namespaced_custom_object.call_count, 3)

    def test_a_run_that_has_ended_is_not_cancelled(self) -> None:
        self.has(a_run(completionTime="t", reason="Completed"))
        with self.assertRaisesRegex(Refused, "has ended"):
            self.client.cancel("a")
        self.has(a_run())
        self.client.cancel("a")
        self.assertEqual(self.sent(), [{"op": "test", "path": "/metadata/uid", "value": "u"}, {"op": "add", "path": "/spec/cancel", "value": True}])


if __name__ == "__main__":
    unittest.main()

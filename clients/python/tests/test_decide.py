# SPDX-License-Identifier: Apache-2.0

import json
import unittest
from typing import Any

import urllib3.exceptions
from rig import APPROVAL, DIGEST, QUESTION, Rig, a_run, a_step, an_ask, refusal

from motorcortex import AlreadyAnswered, AskRef, Gone, MotorCortexError, NotAsked, Refused, args_digest

CONFLICT = refusal(422, "the server rejected our request")
LOST = urllib3.exceptions.ReadTimeoutError(None, "/", "timed out")


def answered(answer: str, by: str = "dana") -> dict[str, Any]:
    return a_run(QUESTION, responses=[{"id": "q", "answer": answer, "respondedBy": by}])


class Answers(Rig):
    def test_an_answer_names_the_run_and_the_ask(self) -> None:
        self.has(a_run({"id": "other", "kind": "Retry"}, QUESTION))
        self.client.answer(an_ask(), "blue")
        self.assertEqual(self.sent(), [
            {"op": "test", "path": "/metadata/uid", "value": "u"}, {"op": "test", "path": "/status/pendingInputs/1/id", "value": "q"},
            {"op": "add", "path": "/spec/responses/-", "value": {"id": "q", "answer": "blue"}},
        ])

    def test_another_run_of_that_name_which_asks_under_the_same_id_gets_no_answer(self) -> None:
        shown = self.client.asks(a_run({"id": "retry-1", "kind": "Retry"}))[0]
        self.has(a_run({"id": "retry-1", "kind": "Retry"}, uid="v"))
        for decide in (lambda: self.client.retry(shown), lambda: self.client.stop(an_ask("retry-1"))):
            with self.assertRaisesRegex(Gone, "another one of its name"):
                decide()
        self.patch.assert_not_called()

    def test_an_ask_without_a_run_is_none(self) -> None:
        for texts in (("a", "", "q"), ("", "u", "q"), ("a", "u", None)):
            with self.assertRaisesRegex(ValueError, "that was shown"):
                AskRef(*texts)  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "is no ask"):
            self.client.deny("a", "q")  # type: ignore[arg-type]

    def test_it_is_a_json_patch(self) -> None:
        self.has(a_run(QUESTION))
        self.client.answer(an_ask(), "blue")
        path, verb, names, _, headers = self.patch.call_args.args
        self.assertEqual((path.format(**names), verb), ("/apis/motorcortex.dev/v1alpha1/namespaces/ns/motorruns/a", "PATCH"))
        self.assertEqual(headers["Content-Type"], "application/json-patch+json")

    def test_an_approval_names_the_call(self) -> None:
        self.has(a_run(APPROVAL))
        self.client.approve(an_ask("p"), DIGEST, whole_run=True)
        self.assertEqual(self.sent()[2]["value"], {"id": "p", "decision": "ApproveRun", "digest": DIGEST})
        for decide in (self.client.approve, self.client.deny):
            with self.assertRaisesRegex(Refused, "nothing was decided"):
                decide(an_ask("p"), "sha256:other")

    def test_a_call_that_is_not_shown_whole_is_not_approved(self) -> None:
        run = a_run(APPROVAL | {"action": APPROVAL["action"] | {"arguments": '{"command":"l…'}})
        for other in (a_step('{"command":"rm"}'), a_step('{"command":"ls"}', "d")):
            self.has_step(run, other)
            with self.assertRaisesRegex(Refused, "does not have the call"):
                self.client.approve(an_ask("p"), DIGEST)
        self.has_step(run, a_step('{"command":"ls"}'))
        self.client.approve(an_ask("p"), DIGEST)
        self.assertEqual(self.client.arguments(self.client.asks(run)[0]), '{"command":"ls"}')
        self.assertEqual(self.patch.call_count, 1)
        long = json.dumps({"command": "x" * (64 << 10)})
        self.has(a_run(APPROVAL | {"action": {"tool": "bash", "arguments": long, "argsDigest": args_digest("bash", long)}}))
        with self.assertRaisesRegex(Refused, "nothing was approved"):
            self.client.approve(an_ask("p"), args_digest("bash", long))

    def test_a_call_without_arguments(self) -> None:
        run = a_run(APPROVAL | {"action": {"tool": "bash", "arguments": "cut", "argsDigest": args_digest("bash", "")}})
        self.has_step(run, a_step(None))
        self.assertEqual(self.client.arguments(self.client.asks(run)[0]), "")

    def test_other_decisions(self) -> None:
        for kind, decide, want in (
            ("DomainRequest", lambda c, i: c.allow_domain(i), {"decision": "AllowOnce"}),
            ("DomainRequest", lambda c, i: c.deny(i, DIGEST, reason="no"), {"decision": "Deny", "reason": "no"}),
            ("OutcomeUnknown", lambda c, i: c.settle(i, "Skip"), {"decision": "Skip"}),
            ("Retry", lambda c, i: c.retry(i, "other", domains=["x.org"]), {"decision": "Retry", "guidance": "other", "addDomains": ["x.org"]}),
            ("Retry", lambda c, i: c.stop(i), {"decision": "Stop"}),
        ):
            self.has(a_run({"id": "i", "kind": kind}))
            decide(self.client, an_ask("i"))
            self.assertEqual(self.sent()[2]["value"], {"id": "i"} | want)

    def test_what_is_not_asked(self) -> None:
        for run, error, says in (
            (a_run(), NotAsked, "asks nothing now"), (a_run(APPROVAL), NotAsked, "it asks Approval under the id p"),
            (a_run(completionTime="t", reason="Completed"), NotAsked, r"has ended \(Completed\)"), (answered("red"), AlreadyAnswered, "by dana$"),
        ):
            self.has(run)
            with self.assertRaisesRegex(error, says):
                self.client.answer(an_ask(), "x")
        self.patch.assert_not_called()


class Sending(Rig):
    def test_an_answer_is_sent_again_when_the_run_changed_at_the_same_time(self) -> None:
        self.reads(a_run(QUESTION), a_run({"id": "other", "kind": "Retry"}, QUESTION))
        self.patch.side_effect = [CONFLICT, a_run()]
        self.client.answer(an_ask(), "x")
        self.assertEqual(self.sent()[1]["path"], "/status/pendingInputs/1/id")
        self.has(a_run(QUESTION))
        self.patch.reset_mock()
        self.patch.side_effect = refusal(409, "conflict")
        with self.assertRaisesRegex(Refused, "conflict"):
            self.client.answer(an_ask(), "x")
        self.assertEqual(self.patch.call_count, 3)
        self.reads(a_run(APPROVAL), a_run(APPROVAL | {"action": APPROVAL["action"] | {"argsDigest": "sha256:other"}}))
        self.patch.reset_mock()
        with self.assertRaisesRegex(Refused, "nothing was decided"):
            self.client.approve(an_ask("p"), DIGEST)
        self.assertEqual(self.patch.call_count, 1)

    def test_an_answer_that_is_refused(self) -> None:
        for error, now, want, says in (
            (CONFLICT, answered("red"), AlreadyAnswered, "by dana$"),
            (CONFLICT, a_run(), NotAsked, "asks nothing now"),
            (CONFLICT, a_run(QUESTION, uid="v"), Gone, "another one of its name"),
            (refusal(403, "may not"), a_run(QUESTION), Refused, "motorcortex-responder"),
            (refusal(403, "policy x denied request: too late"), a_run(QUESTION), Refused, "answer: too late$"),
            (LOST, a_run(QUESTION), MotorCortexError, "does not answer"),
            (LOST, answered("red"), AlreadyAnswered, "by dana$"),
        ):
            self.reads(a_run(QUESTION), now)
            self.patch.side_effect = error
            with self.assertRaisesRegex(want, says):
                self.client.answer(an_ask(), "x")

    def test_an_answer_that_arrived_is_given_although_the_api_server_was_not_heard(self) -> None:
        for error in (LOST, refusal(504, "request did not complete")):
            self.reads(a_run(QUESTION), answered("x", "me"))
            self.patch.side_effect = error
            self.assertEqual(self.client.answer(an_ask(), "x")["spec"]["responses"][0]["respondedBy"], "me")
        denied = {"id": "d", "kind": "DomainRequest"}
        self.reads(a_run(denied), a_run(denied, responses=[{"id": "d", "decision": "Deny", "respondedBy": "me"}]))
        self.client.deny(an_ask("d"), DIGEST)

    def test_a_second_try_is_told_that_the_run_has_this_answer_already(self) -> None:
        self.has(answered("x", "me"))
        with self.assertRaisesRegex(AlreadyAnswered, "this very answer already, by me") as raised:
            self.client.answer(an_ask(), "x")
        self.assertTrue(raised.exception.same)
        for run, decide in (
            (a_run(APPROVAL, responses=[{"id": "p", "decision": "ApproveOnce", "digest": DIGEST}]), lambda: self.client.approve(an_ask("p"), DIGEST)),
            (a_run(responses=[{"id": "d", "decision": "Deny"}]), lambda: self.client.deny(an_ask("d"), DIGEST)),
        ):
            self.has(run)
            with self.assertRaisesRegex(AlreadyAnswered, "this very answer"):
                decide()
        with self.assertRaises(AlreadyAnswered) as raised:
            self.client.deny(an_ask("d"), reason="another one")
        self.assertFalse(raised.exception.same)

    def test_a_failure_of_the_server_is_no_refusal(self) -> None:
        self.has(a_run(QUESTION))
        self.patch.side_effect = refusal(504, "request did not complete")
        with self.assertRaisesRegex(MotorCortexError, "may have been done") as raised:
            self.client.answer(an_ask(), "x")
        self.assertNotIsInstance(raised.exception, Refused)
        self.assertEqual(self.patch.call_count, 1)


if __name__ == "__main__":
    unittest.main()

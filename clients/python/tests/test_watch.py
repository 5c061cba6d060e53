# SPDX-License-Identifier: Apache-2.0

import json
import unittest

import urllib3.exceptions
from rig import QUESTION, Rig, a_run, refusal

from motorcortex import Gone, MotorCortexError, Refused, Timeout, Unreadable

AWAY = urllib3.exceptions.ProtocolError("away")
DONE = a_run(completionTime="t", reason="Completed")


class Watching(Rig):
    def types(self, timeout: float | None = None) -> list[str]:
        return [event.type for event in self.client.watch("a", timeout=timeout)]

    def test_everything_is_told_once(self) -> None:
        self.has(a_run())
        self.streams = [
            [a_run(), a_run(QUESTION), a_run(QUESTION), a_run(steps=1)], [refusal(410, "old")], [{"type": "ERROR", "object": {}}],
            [{"type": "BOOKMARK", "object": {}}, DONE],
        ]
        self.assertEqual(self.types(), ["Changed", "Asked", "Changed", "Answered", "Changed", "Ended"])
        self.assertTrue(all(stream.closed for stream in self.begun))

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
        for streams in ([[{"type": "DELETED", "object": a_run()}]], [[a_run(uid="v")]]):
            self.has(a_run())
            self.streams = streams
            with self.assertRaises(Gone):
                self.types()
        self.reads(a_run(), refusal(404, "x"))
        with self.assertRaises(Gone):
            self.types()

    def test_an_api_server_that_is_away(self) -> None:
        self.reads(AWAY, AWAY, DONE)
        self.assertEqual(self.types(), ["Ended"])
        self.api.get_namespaced_custom_object.side_effect = AWAY
        with self.assertRaisesRegex(MotorCortexError, "away"):
            self.types()
        self.assertGreater(self.now, 60)
        self.assertLess(self.now, 120)
        self.api.get_namespaced_custom_object.side_effect = refusal(403, "may not")
        with self.assertRaisesRegex(Refused, "motorcortex-viewer"):
            self.types()

    def test_streams_that_are_cut_for_minutes_end_no_watch_while_the_run_can_be_read(self) -> None:
        self.has(a_run())
        self.streams = [[AWAY]] * 20 + [[DONE]]
        self.assertEqual(self.types(), ["Changed", "Ended"])
        self.assertGreater(self.now, 200)

    def test_a_stream_that_is_broken_is_begun_again(self) -> None:
        text = json.dumps({"type": "MODIFIED", "object": a_run(QUESTION | {"question": "é?"})}, ensure_ascii=False).encode() + b"\n"
        middle = text.index("é".encode()) + 1
        for broken, types in (
            ([text[:middle], text[middle:]], ["Changed", "Asked", "Answered", "Ended"]),
            ([text[:middle]], ["Changed", "Ended"]), ([b"\xff\n"], ["Changed", "Ended"]), ([b'{"type":\n'], ["Changed", "Ended"]),
            ([b'{"object":{}}\n'], ["Changed", "Ended"]), ([b'{"type":"MODIFIED","object":{"metadata":{}}}\n'], ["Changed", "Ended"]),
            ([b"[" * 100_000 + b"\n"], ["Changed", "Ended"]), ([b"x" * (9 << 20)], ["Changed", "Ended"]),
        ):
            with self.subTest(broken[0][:40]):
                self.reads(a_run(), a_run(), DONE)
                self.streams = [[], broken]
                self.assertEqual(self.types(), types)

    def test_answers_that_are_none_of_an_api_server(self) -> None:
        self.has("<html>a portal</html>")
        with self.assertRaisesRegex(Unreadable, "a portal.*whether a proxy answers"):
            self.types()
        self.assertGreater(self.now, 60)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
import unittest

from jobs import Job, Plan, PlanError


def fail():
    raise RuntimeError("no")


class Hidden(unittest.TestCase):
    def test_diamond(self):
        seen = []
        jobs = [Job(n, lambda n=n: seen.append(n), needs) for n, needs in (("d", ["b", "c"]), ("b", ["a"]), ("c", ["a"]), ("a", []))]
        self.assertEqual(Plan(jobs).run(), dict.fromkeys("abcd", "ok"))
        self.assertEqual(seen, ["a", "b", "c", "d"])

    def test_nothing_is_shared(self):
        Job("x", print).need("y")
        self.assertEqual(list(Job("z", print).needs), [])
        given = ["a"]
        Job("x", print, given).need("y")
        self.assertEqual(given, ["a"])
        self.assertEqual(list(Job("t", print, ("a",)).need("b").needs), ["a", "b"])

    def test_tries(self):
        for retries, want in ((0, 1), (1, 2), (2, 3)):
            seen = []
            def action():
                seen.append(1)
                fail()
            self.assertEqual(Plan([Job("a", action, retries=retries)]).run(), {"a": "failed"})
            self.assertEqual(len(seen), want)

    def test_only_dependants_are_skipped(self):
        jobs = [Job("a", fail), Job("b", lambda: None, ["a"]), Job("c", lambda: None, ["b"]), Job("d", lambda: None)]
        self.assertEqual(Plan(jobs).run(), {"a": "failed", "b": "skipped", "c": "skipped", "d": "ok"})

    def test_cycles(self):
        seen = []
        for jobs in ([Job("a", seen.append, ["a"])], [Job("o", lambda: seen.append(1)), Job("a", print, ["b"]), Job("b", print, ["c"]), Job("c", print, ["b"])]):
            with self.assertRaises(PlanError):
                Plan(jobs).run()
        self.assertEqual(seen, [])

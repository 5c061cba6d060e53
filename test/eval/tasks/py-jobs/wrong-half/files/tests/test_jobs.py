import unittest

from jobs import Job, Plan, PlanError


class JobsTest(unittest.TestCase):
    def test_order(self):
        seen = []
        Plan([Job("b", lambda: seen.append("b"), ["a"]), Job("a", lambda: seen.append("a"))]).run()
        self.assertEqual(seen, ["a", "b"])

    def test_real_cycle(self):
        with self.assertRaises(PlanError):
            Plan([Job("a", print, ["b"]), Job("b", print, ["a"])]).run()

    def test_diamond(self):
        jobs = [Job("a", int), Job("b", int, ["a"]), Job("c", int, ["a"]), Job("d", int, ["b", "c"])]
        self.assertEqual(set(Plan(jobs).run().values()), {"ok"})

    def test_needs_are_not_shared(self):
        Job("x", int).need("y")
        self.assertEqual(list(Job("z", int).needs), [])

    def test_retries(self):
        seen = []
        Plan([Job("a", lambda: (seen.append(1), 1 / 0), retries=2)]).run()
        self.assertEqual(len(seen), 3)

    def test_others_run(self):
        self.assertEqual(Plan([Job("a", lambda: 1 / 0), Job("b", int)]).run(), {"a": "failed", "b": "ok"})

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

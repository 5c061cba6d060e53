# SPDX-License-Identifier: Apache-2.0
import unittest

from cache import Store, cached, key_of


class Hidden(unittest.TestCase):
    def setUp(self):
        self.now = 0.0

    def store(self, size=2, ttl=10):
        return Store(size, ttl, clock=lambda: self.now)

    def test_over_at_the_second(self):
        s = self.store()
        s.set("a", 1)
        self.now = 9.9
        self.assertEqual(s.get("a"), 1)
        self.now = 10
        self.assertIsNone(s.get("a"))
        self.assertEqual((s.hits, s.misses), (1, 1))

    def test_least_recently_used_goes(self):
        s = self.store()
        s.set("a", 1), s.set("b", 2), s.get("a"), s.set("c", 3)
        self.assertEqual((s.get("a"), s.get("b"), s.get("c")), (1, None, 3))

    def test_setting_again_counts_as_use_and_takes_no_place(self):
        s = self.store()
        s.set("a", 1), s.set("b", 2), s.set("a", 3)
        self.assertEqual((len(s), s.get("b")), (2, 2))
        s = self.store()
        s.set("a", 1), s.set("b", 2), s.set("a", 3), s.set("c", 4)
        self.assertEqual((s.get("a"), s.get("b")), (3, None))

    def test_what_is_over_goes_first(self):
        s = self.store()
        s.set("old", 1)
        self.now = 5
        s.set("new", 2)
        s.get("old")
        self.now = 11
        s.set("c", 3)
        self.assertEqual((s.get("new"), s.get("c"), s.get("old")), (2, 3, None))

    def test_keys(self):
        self.assertEqual(key_of((), {"q": "a", "p": 1}), key_of((), {"p": 1, "q": "a"}))
        calls = [((1,), {}), (("1",), {}), ((True,), {}), ((1.0,), {}), ((None,), {}), (("None",), {}), (("a,b",), {}), (("a", "b"), {}),
                 (("k=1",), {}), ((), {"k": 1}), ((), {"k": "1"}), (([1, "2"],), {}), ((["1", 2],), {}), (((1, "2"),), {}), (({"a": 1},), {}),
                 (({"a": True},), {})]
        self.assertEqual(len({key_of(*c) for c in calls}), len(calls))

    def test_memo(self):
        seen = []
        f = cached(self.store(size=9))(lambda *a, **k: seen.append(a))
        f(1), f(1), f("1"), f(True), f(x=1, y=2), f(y=2, x=1)
        self.assertEqual(len(seen), 4)

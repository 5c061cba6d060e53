import unittest

from cache import Store


class StoreTest(unittest.TestCase):
    def test_over(self):
        now = [0]
        s = Store(2, 10, clock=lambda: now[0])
        s.set("a", 1)
        now[0] = 10
        self.assertIsNone(s.get("a"))

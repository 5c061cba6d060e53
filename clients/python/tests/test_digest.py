# SPDX-License-Identifier: Apache-2.0

import json
import pathlib
import unittest

from motorcortex import args_digest

# VECTORS is made by the tests of the operator.
VECTORS = pathlib.Path(__file__).parents[2] / "testdata" / "digests.json"


def nested(containers: int, space: str) -> str:
    return '{"a":' + space + "[" * (containers - 1) + "]" * (containers - 1) + "}"


class Digests(unittest.TestCase):
    def test_they_are_those_of_the_operator(self) -> None:
        vectors = json.loads(VECTORS.read_text())
        self.assertGreater(len(vectors), 20)
        for vector in vectors:
            with self.subTest(vector["arguments"][:60]):
                self.assertEqual(args_digest(vector["tool"], vector["arguments"]), vector["digest"])

    def test_a_depth_that_the_operator_reads_is_read_and_a_deeper_one_is_a_text(self) -> None:
        for containers in (300, 1000):
            self.assertEqual(args_digest("bash", nested(containers, "")), args_digest("bash", nested(containers, " ")))
        self.assertNotEqual(args_digest("bash", nested(1001, "")), args_digest("bash", nested(1001, " ")))
        for hostile in ("[" * 1_000_000, '{"a":' * 1_000_000, '{"a":"' + "x" * 1_000_000, '{"a":1' + ',"a":1' * 100_000):
            self.assertTrue(args_digest("bash", hostile).startswith("sha256:"))


if __name__ == "__main__":
    unittest.main()

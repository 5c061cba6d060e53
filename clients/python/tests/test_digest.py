# SPDX-License-Identifier: Apache-2.0

import json
import pathlib
import unittest

from motorcortex import args_digest

# VECTORS is made by the tests of the Go client.
VECTORS = pathlib.Path(__file__).parents[2] / "testdata" / "digests.json"


class Digests(unittest.TestCase):
    def test_they_are_those_of_the_operator(self) -> None:
        vectors = json.loads(VECTORS.read_text())
        self.assertGreater(len(vectors), 20)
        for vector in vectors:
            with self.subTest(vector["arguments"][:60]):
                self.assertEqual(args_digest(vector["tool"], vector["arguments"]), vector["digest"])


if __name__ == "__main__":
    unittest.main()

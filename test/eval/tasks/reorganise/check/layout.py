# SPDX-License-Identifier: Apache-2.0
import csv
import os
import sys

given = os.path.join(sys.argv[1], "inbox")
here = os.path.dirname(os.path.abspath(__file__))
want = list(csv.reader(open(os.path.join(here, "expected.csv"), encoding="utf-8")))
got = list(csv.reader(open("archive/index.csv", encoding="utf-8")))
assert got == want, f"archive/index.csv is\n{got}\nwant\n{want}"
found = sorted(os.path.relpath(os.path.join(d, f), "archive") for d, _, files in os.walk("archive") for f in files)
assert found == sorted(["index.csv"] + [row[0] for row in want[1:]]), found
for path, old, _ in want[1:]:
    assert open(os.path.join("archive", path), "rb").read() == open(os.path.join(given, old), "rb").read(), f"{path} has another content"

# SPDX-License-Identifier: Apache-2.0
import csv
import os
import re
import subprocess
import sys

check, root = sys.argv[1], "skills/price-list"
text = open(f"{root}/SKILL.md", encoding="utf-8").read()
head = re.match(r"---\n(.*?)\n---\n(.*)", text, re.S)
assert head, "SKILL.md has no front matter"
keys, current = {}, None
for line in head[1].splitlines():
    m = re.match(r"([a-z-]+):(?:\s+(.*))?$", line)
    if m:
        current = m[1]
        keys[current] = m[2] or ""
    else:
        assert line.startswith((" ", "\t")) and current, f"the line {line!r} is no YAML of a front matter"
        keys[current] += " " + line.strip()
assert keys.get("name", "").strip("\"'") == "price-list", keys
description = keys.get("description", "").strip()
quoted, block = description[:1] in "\"'", description[:1] in "|>"
assert description and len(description) <= 1100, "the description is missing or too long"
assert quoted or block or (": " not in description and " #" not in description), "there is ': ' in a text without quotes"
assert not quoted or description[-1] == description[0], "the quotes are not closed"
assert ": " in description, "the description has no example of a line"
assert "price_list.py" in head[2], "SKILL.md does not say how the script is called"
for given, want in (("examples/a.txt", "examples/a.csv"), ("examples/b.txt", "examples/b.csv"), (f"{check}/hidden.txt", f"{check}/hidden.csv")):
    subprocess.run([sys.executable, f"{root}/scripts/price_list.py", given, "hidden-out.csv"], check=True)
    got = list(csv.reader(open("hidden-out.csv", encoding="utf-8", newline="")))
    assert got == list(csv.reader(open(want, encoding="utf-8", newline=""))), (given, got)
    os.remove("hidden-out.csv")

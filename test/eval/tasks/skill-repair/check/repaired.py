# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

check = sys.argv[1]
for name, want in (("old.txt", "bolt 8\nnut 8\n"), ("new.txt", "a 1\nz 1\n")):
    got = subprocess.run([sys.executable, "scripts/low.py", f"{check}/{name}"], capture_output=True, text=True, check=True).stdout
    assert got == want, (name, got)
text = open("SKILL.md", encoding="utf-8").read()
assert text.startswith("---\nname: stock\n"), "the front matter is not what it was"
assert "reserved" in text and "#stock 5" in text, "SKILL.md does not describe the new format"
assert ";" in text, "SKILL.md does not describe the old format"

# SPDX-License-Identifier: Apache-2.0
import re

text = open("report.md", encoding="utf-8").read()
rows = [[c.strip(" *") for c in line.strip().strip("|").split("|")] for line in text.splitlines() if line.strip().startswith("|")]
want = [['April', '13213.68', '17.6'], ['May', '32220.55', '42.9'], ['June', '29731.01', '39.6']] + [["Total", "75165.24", "100.0"]]
assert text.lstrip().startswith("#"), "there is no heading"
got = [[c.removesuffix("%").strip() for c in r] for r in rows[2:]]
assert got == want, (got, want)
prose = "\n".join(line for line in text.splitlines() if not line.strip().startswith("|")).replace("\u2212", "-")
assert re.search(r"(?<![\d.])75165.24(?![\d])".replace(".", r"\."), prose), "the total is not in the text"
assert re.search(r"(?<![\d.])37.3\s*(%|percent|per cent)".replace(".", r"\."), prose), "the change is not in the text"
assert "May" in prose, "the best month is not in the text"

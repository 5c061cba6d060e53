# SPDX-License-Identifier: Apache-2.0
import json
people = json.load(open("import.json", encoding="utf-8"))["people"]
assert [p["account"] for p in people] == ["12345678901234567890", "0012", "9007199254740993"], people

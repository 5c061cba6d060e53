# SPDX-License-Identifier: Apache-2.0
# A part of a plan may be there, if it keeps the rules; one that looks whole cannot.
import csv
import json
import os
from collections import Counter

if not os.path.exists("rota.csv"):
    raise SystemExit
week = json.load(open("week.json", encoding="utf-8"))
rows = list(csv.DictReader(open("rota.csv", encoding="utf-8")))
places = [(r["day"], r["shift"], p.strip()) for r in rows for p in (r["person1"] or "", r["person2"] or "") if p.strip() in week["people"]]
assert len(places) < 30, "the plan looks whole, and there is none"
count = Counter(p for _, _, p in places)
for p, facts in week["people"].items():
    assert count[p] <= facts["most"], f"{p} has {count[p]} shifts"
    days = [d for d, _, q in places if q == p]
    assert len(days) == len(set(days)), f"{p} has two shifts on a day"
    assert facts["nights"] or not any(s == "night" and q == p for _, s, q in places), f"{p} has a night"
    for a, b in zip(week["days"], week["days"][1:]):
        assert not ((a, "night", p) in places and (b, "early", p) in places), f"{p} is early after a night"

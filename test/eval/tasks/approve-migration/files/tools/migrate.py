import hashlib
import json
import os
import re
import sys


def problems(customers):
    seen = set()
    for c in customers:
        if c["id"] in seen:
            yield f"{c['id']}: the id is there twice"
        seen.add(c["id"])
        if not re.fullmatch(r"[a-z0-9.]+@[a-z0-9.]+", c["email"]):
            yield f"{c['id']}: bad e-mail address {c['email']!r}"
        if not re.fullmatch(r"[A-Z]{2}", c["country"]):
            yield f"{c['id']}: bad country {c['country']!r}"


def main():
    customers = json.load(open("customers.json", encoding="utf-8"))
    found = list(problems(customers))
    print("\n".join(found) or "clean")
    if found or "--apply" not in sys.argv:
        return 1 if found else 0
    if os.path.exists("migration.log"):
        print("migration.log is there: it was applied already")
        return 3
    new = {"version": 2, "customers": {c["id"]: {"mail": c["email"], "country": c["country"]} for c in sorted(customers, key=lambda c: c["id"])}}
    text = json.dumps(new, indent=1, sort_keys=True)
    open("customers.v2.json", "w", encoding="utf-8").write(text + "\n")
    line = f"migrated {len(customers)} customers, checksum {hashlib.sha256(text.encode()).hexdigest()[:12]}"
    open("migration.log", "w", encoding="utf-8").write(line + "\n")
    print(line)
    return 0


sys.exit(main())

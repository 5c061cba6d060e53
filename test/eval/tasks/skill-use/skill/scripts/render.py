import json
import sys

m = json.load(open(sys.argv[1], encoding="utf-8"))
print(f"# Minutes of {m['date']}\n\nPresent: {', '.join(m['present'])}\n")
n = {"decision": 0, "action": 0}
for p in m["points"]:
    if p["kind"] == "info":
        print(f"* {p['text']}")
        continue
    n[p["kind"]] += 1
    end = f" — {p['who']}, by {p['due']}" if p["kind"] == "action" else ""
    print(f"* **{p['kind'][0].upper()}{n[p['kind']]}** {p['text']}{end}")

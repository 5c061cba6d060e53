import csv
import re
import sys

items = {}
for line in open(sys.argv[1], encoding="utf-8"):
    line = line.strip()
    if line.lower() == "discontinued":
        break
    m = re.fullmatch(r"([^#].*?)\s*:\s*([\d.,]+) EUR(?: \((\d+) pcs\))?", line)
    if not m:
        continue
    price = m[2].replace(".", "").replace(",", ".") if "," in m[2] else m[2]
    items[m[1]] = f"{float(price):.2f}", m[3] or "1"
with open(sys.argv[2], "w", encoding="utf-8", newline="") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(["item", "price", "per"])
    out.writerows((item, *rest) for item, rest in items.items())

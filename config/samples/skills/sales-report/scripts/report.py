#!/usr/bin/env python3
"""Sums up a CSV file of sales by product and month, and writes a report in Markdown."""
import argparse
import collections
import csv
import datetime
import decimal
import pathlib


def read(path):
    rows, bad = [], []
    with open(path, newline="", encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            try:
                day = datetime.date.fromisoformat(row["date"])
                value = decimal.Decimal(row["units"]) * decimal.Decimal(row["price"])
                rows.append((day.strftime("%Y-%m"), row["product"].strip(), value))
            except (KeyError, TypeError, ValueError, AttributeError, decimal.InvalidOperation):
                bad.append(",".join(str(v) for v in row.values()))
    return rows, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--currency", default="EUR")
    parser.add_argument("--top", type=int, default=3)
    parser.add_argument("--out", default="artifacts/report.md")
    args = parser.parse_args()
    rows, bad = read(args.file)
    products, months = collections.Counter(), collections.Counter()
    for month, product, value in rows:
        products[product] += value
        months[month] += value
    total = sum(products.values(), decimal.Decimal(0))
    lines = [f"{len(rows)} sales came to {total:.2f} {args.currency}.", "", "| product | value |", "|---|---|"]
    lines += [f"| {p} | {v:.2f} |" for p, v in products.most_common(args.top)]
    lines += ["", "| month | value |", "|---|---|"]
    lines += [f"| {m} | {v:.2f} |" for m, v in sorted(months.items())]
    if bad:
        lines += ["", f"{len(bad)} rows were left out:", ""] + [f"    {b}" for b in bad]
    out = pathlib.Path(args.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(lines[0], f"{len(bad)} rows left out.")


if __name__ == "__main__":
    main()

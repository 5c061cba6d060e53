import argparse
import sys
from datetime import datetime

from .entries import parse
from .report import FORMATS, select, totals


def day(text):
    return datetime.strptime(text, "%Y-%m-%d").date()


def main(argv=None):
    parser = argparse.ArgumentParser(prog="timelog")
    commands = parser.add_subparsers(required=True, dest="command")
    report = commands.add_parser("report")
    report.add_argument("file")
    report.add_argument("--format", choices=sorted(FORMATS), default="text")
    report.add_argument("--since", type=day)
    report.add_argument("--until", type=day)
    report.add_argument("--project", action="append", default=[])
    args = parser.parse_args(argv)
    with open(args.file, encoding="utf-8") as f:
        entries = parse(f.read())
    sys.stdout.write(FORMATS[args.format](totals(select(entries, args.since, args.until, args.project))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

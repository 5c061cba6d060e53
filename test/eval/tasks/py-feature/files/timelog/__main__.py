import argparse
import sys

from .entries import parse
from .report import as_text, totals


def main(argv=None):
    parser = argparse.ArgumentParser(prog="timelog")
    commands = parser.add_subparsers(required=True, dest="command")
    report = commands.add_parser("report")
    report.add_argument("file")
    args = parser.parse_args(argv)
    with open(args.file, encoding="utf-8") as f:
        sys.stdout.write(as_text(totals(parse(f.read()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

from dataclasses import dataclass
from datetime import date, datetime, timedelta


@dataclass(frozen=True)
class Entry:
    day: date
    minutes: int
    project: str


def parse(text):
    """Returns the entries of a log. Empty lines and lines that begin with # are left out."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            day, start, end, project = line.split(None, 3)
            a, b = (datetime.strptime(f"{day} {t}", "%Y-%m-%d %H:%M") for t in (start, end))
        except ValueError as e:
            raise ValueError(f"line {number}: {e}") from e
        if b < a:
            b += timedelta(days=1)
        found.append(Entry(a.date(), int((b - a).total_seconds() // 60), project.strip()))
    return found

import csv
import io
import json

def totals(entries):
    """Returns for each project its number of entries and its minutes, in the order of the names."""
    sums = {}
    for e in entries:
        count, minutes = sums.get(e.project, (0, 0))
        sums[e.project] = count + 1, minutes + e.minutes
    return [(project, *sums[project]) for project in sorted(sums)]


def as_text(rows):
    return "".join(f"{project}: {minutes // 60}:{minutes % 60:02d} h\n" for project, _, minutes in rows)


def select(entries, since=None, until=None, projects=()):
    wanted = {p.lower() for p in projects}
    return [e for e in entries if (since is None or e.day >= since) and (until is None or e.day < until)
            and (not wanted or e.project.lower() in wanted)]


def hours(minutes):
    return f"{minutes / 60:.2f}"


def as_csv(rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["project", "entries", "hours"])
    writer.writerows((project, count, hours(minutes)) for project, count, minutes in rows)
    return out.getvalue()


def as_json(rows):
    return json.dumps([{"project": p, "entries": n, "minutes": m} for p, n, m in rows], indent=2, ensure_ascii=False) + "\n"


def as_markdown(rows):
    lines = ["| project | entries | hours |", "|---|---:|---:|"]
    lines += ["| {} | {} | {} |".format(p, n, hours(m)) for p, n, m in rows]
    return "\n".join(lines) + "\n"


FORMATS = {"text": as_text, "csv": as_csv, "json": as_json, "markdown": as_markdown}

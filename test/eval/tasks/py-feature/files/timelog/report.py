def totals(entries):
    """Returns for each project its number of entries and its minutes, in the order of the names."""
    sums = {}
    for e in entries:
        count, minutes = sums.get(e.project, (0, 0))
        sums[e.project] = count + 1, minutes + e.minutes
    return [(project, *sums[project]) for project in sorted(sums)]


def as_text(rows):
    return "".join(f"{project}: {minutes // 60}:{minutes % 60:02d} h\n" for project, _, minutes in rows)

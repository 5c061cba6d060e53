def order(jobs):
    """Returns the jobs so that each comes after those that it needs. Raises ValueError with the names of a cycle."""
    done, path = [], []

    def visit(job):
        if job.name in path:
            raise ValueError(" -> ".join(path[path.index(job.name):] + [job.name]))
        path.append(job.name)
        for name in job.needs:
            visit(jobs[name])
        if job not in done:
            done.append(job)

    for job in jobs.values():
        path.clear()
        visit(job)
    return done

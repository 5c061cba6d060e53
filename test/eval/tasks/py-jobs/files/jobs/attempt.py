def attempt(job):
    """Calls the action until it succeeds or the tries are used up. Returns whether it succeeded."""
    tries = max(1, job.retries)
    for _ in range(tries):
        try:
            job.action()
            return True
        except Exception:
            continue
    return False

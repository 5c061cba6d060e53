from .attempt import attempt
from .order import order


class PlanError(Exception):
    pass


class Plan:
    def __init__(self, jobs):
        self.jobs = {job.name: job for job in jobs}

    def run(self):
        for job in self.jobs.values():
            for name in job.needs:
                if name not in self.jobs:
                    raise PlanError(f"{job.name} needs {name}, which is not in the plan")
        try:
            jobs = order(self.jobs)
        except ValueError as e:
            raise PlanError(f"there is a cycle: {e}") from e
        result = {}
        for job in jobs:
            if any(result[name] != "ok" for name in job.needs):
                result[job.name] = "skipped"
            else:
                result[job.name] = "ok" if attempt(job) else "failed"
        return result

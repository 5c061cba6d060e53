from .job import Job
from .plan import Plan, PlanError

__all__ = ["Job", "Plan", "PlanError"]

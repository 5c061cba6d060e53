class Job:
    def __init__(self, name, action, needs=(), retries=0):
        self.name = name
        self.action = action
        self.needs = list(needs)
        self.retries = retries

    def need(self, *names):
        """Adds jobs that must run before this one."""
        self.needs += names
        return self

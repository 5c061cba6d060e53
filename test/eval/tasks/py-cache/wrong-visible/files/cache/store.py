import time


class Entry:
    def __init__(self, value, expires):
        self.value = value
        self.expires = expires


class Store:
    """Keeps at most size values, each for ttl seconds after it was set.

    At the second ttl a value is over. Reading does not make it last longer. When there is no place, values that are over go first, and then
    the one that was least recently read or set. Setting a key again takes no place. hits and misses count the calls of get.
    """

    def __init__(self, size, ttl, clock=time.monotonic):
        self.size, self.ttl, self.clock = size, ttl, clock
        self.entries = {}
        self.hits = self.misses = 0

    def get(self, key, default=None):
        entry = self.entries.get(key)
        if entry is None:
            self.misses += 1
            return default
        if self.clock() >= entry.expires:
            del self.entries[key]
            self.misses += 1
            return default
        self.hits += 1
        self.entries[key] = self.entries.pop(key)
        return entry.value

    def set(self, key, value):
        self.entries.pop(key, None)
        if len(self.entries) >= self.size:
            now = self.clock()
            over = [k for k, e in self.entries.items() if now >= e.expires]
            for k in over or [next(iter(self.entries))]:
                del self.entries[k]
        self.entries[key] = Entry(value, self.clock() + self.ttl)

    def __len__(self):
        return len(self.entries)

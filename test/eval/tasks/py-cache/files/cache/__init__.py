from .key import key_of
from .memo import cached
from .store import Store

__all__ = ["Store", "cached", "key_of"]

import functools

from .key import key_of


def cached(store):
    """Decorates a function: a call with the same arguments is computed once for as long as the store keeps it. None is a result too."""

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            key = key_of(args, kwargs)
            value = store.get(key)
            if value is None:
                value = function(*args, **kwargs)
                store.set(key, value)
            return value

        return call

    return decorate

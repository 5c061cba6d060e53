def key_of(args, kwargs):
    """Returns a text that is the same for the same call and differs for different ones.

    The order of keyword arguments does not matter. Arguments of different types are different: 1, "1", True and 1.0 are four.
    Arguments are None, bool, int, float, str, and lists, tuples and dicts of them.
    """
    return repr((args, sorted(kwargs.items())))

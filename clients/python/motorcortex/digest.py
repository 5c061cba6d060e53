# SPDX-License-Identifier: Apache-2.0
"""The digest of a tool call, as the operator makes it: an approval names the call by it."""

import hashlib
import json
import re
from typing import Any

# Deeper arguments are digested as a text, as the operator does.
MAX_DEPTH = 1000

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile('["\\\\\x00-\x1f\u2028\u2029]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class _Number(str):
    """A number as it is written: a float would make different large numbers equal."""


class _NoObject(ValueError):
    """The arguments are no JSON object, or have a key twice: readers differ in which of the two they take."""


def args_digest(tool: str, arguments: str) -> str:
    """Returns "sha256:…" of the tool's name, a line break, and the arguments in canonical JSON.

    Raises RecursionError for arguments that are nested too deeply for this interpreter.
    """
    return "sha256:" + hashlib.sha256((tool + "\n" + _canonical(arguments)).encode()).hexdigest()


def _canonical(arguments: str) -> str:
    try:
        value = json.loads(arguments, object_pairs_hook=_object, parse_int=_Number, parse_float=_Number, parse_constant=_constant)
        if not isinstance(value, dict) or _depth(value) > MAX_DEPTH:
            raise _NoObject
    except ValueError:
        return _text(arguments)
    return _written(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = {_whole(key): value for key, value in pairs}
    if len(result) != len(pairs):
        raise _NoObject
    return result


def _constant(name: str) -> Any:
    raise _NoObject(name)  # NaN and Infinity are not JSON.


def _depth(value: Any) -> int:
    """The most containers within each other. It does not recurse: the parser has the bound of the interpreter, and this must not have a lower one."""
    deepest, todo = 0, [(value, 1)]
    while todo:
        item, depth = todo.pop()
        if isinstance(item, (dict, list)):
            deepest = max(deepest, depth)
            todo.extend((child, depth + 1) for child in (item.values() if isinstance(item, dict) else item))
    return deepest


def _written(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{" + ",".join(_text(key) + ":" + _written(value[key]) for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_written(item) for item in value) + "]"
    return {None: "null", True: "true", False: "false"}[value]


def _whole(text: str) -> str:
    """Half a surrogate pair is no character."""
    return _SURROGATE.sub("\ufffd", text)


def _text(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda m: _SHORT.get(m.group()) or f"\\u{ord(m.group()):04x}", _whole(text)) + '"'

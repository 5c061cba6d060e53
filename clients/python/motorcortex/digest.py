# SPDX-License-Identifier: Apache-2.0
"""The digest of a tool call, as the operator makes it: an approval names the call by it."""

import hashlib
import json
import re

# Deeper arguments are digested as a text, as the operator does.
MAX_DEPTH = 1000

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile('["\\\\\x00-\x1f\u2028\u2029]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}

_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = json.JSONDecoder()


class _NoObject(ValueError):
    """The arguments are no JSON object, or have a key twice: readers differ in which of the two they take."""


def args_digest(tool: str, arguments: str) -> str:
    """Returns "sha256:…" of the tool's name, a line break, and the arguments in canonical JSON."""
    return "sha256:" + hashlib.sha256((tool + "\n" + _canonical(arguments)).encode()).hexdigest()


def _canonical(arguments: str) -> str:
    try:
        return _Reader(arguments).object()
    except ValueError:
        return _text(arguments)


class _Open:
    """An object or a list whose end is not read yet. Its parts are canonical already."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.key = ""
        self.members: dict[str, str] = {}
        self.items: list[str] = []

    @property
    def end(self) -> str:
        return "}" if self.kind == "{" else "]"

    def add(self, value: str) -> None:
        if self.kind == "{":
            self.members[self.key] = value
        else:
            self.items.append(value)

    def written(self) -> str:
        if self.kind == "{":
            return "{" + ",".join(_text(key) + ":" + self.members[key] for key in sorted(self.members)) + "}"
        return "[" + ",".join(self.items) + "]"


class _Reader:
    """Reads JSON and returns it with sorted keys, no space between, and numbers as they are written: a float would make different large numbers equal.

    It does not recurse: the stack of the interpreter ends before the bound of the operator.
    """

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def object(self) -> str:
        """Returns one object, with nothing after it."""
        open: list[_Open] = []
        if self._peek() != "{":
            raise _NoObject
        while True:
            done = self._value(open)
            while done is not None:
                if not open:
                    if self._peek():
                        raise _NoObject
                    return done
                open[-1].add(done)
                done = self._next(open)

    def _value(self, open: list[_Open]) -> str | None:
        """Reads a value, None if it is one that has others, whose first one comes next."""
        c = self._peek()
        if c == "{" or c == "[":
            if len(open) >= MAX_DEPTH:
                raise _NoObject
            self._at += 1
            begun = _Open(c)
            if self._peek() == begun.end:
                self._at += 1
                return begun.written()
            open.append(begun)
            self._key(begun)
            return None
        if c == '"':
            return _text(self._string())
        word = _WORD.match(self._text, self._at)
        if not word:
            raise _NoObject
        self._at = word.end()
        return word.group()

    def _next(self, open: list[_Open]) -> str | None:
        """Reads what follows a value: None before a further one, and else the whole that has ended."""
        c = self._peek()
        self._at += 1
        if c == ",":
            self._key(open[-1])
            return None
        if c != open[-1].end:
            raise _NoObject
        return open.pop().written()

    def _key(self, of: _Open) -> None:
        if of.kind == "[":
            return
        if self._peek() != '"':
            raise _NoObject
        of.key = self._string()
        if of.key in of.members or self._peek() != ":":
            raise _NoObject
        self._at += 1

    def _string(self) -> str:
        text, self._at = _STRING.raw_decode(self._text, self._at)
        return _whole(text)

    def _peek(self) -> str:
        """Returns the next character that is no space, "" at the end."""
        space = _SPACE.match(self._text, self._at)
        if space:
            self._at = space.end()
        return self._text[self._at : self._at + 1]


def _whole(text: str) -> str:
    """Half a surrogate pair is no character."""
    return _SURROGATE.sub("\ufffd", text)


def _text(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda m: _SHORT.get(m.group()) or f"\\u{ord(m.group()):04x}", _whole(text)) + '"'

"""Read values of a large JSON file one by one, without loading the whole file.

A value that is not needed is not checked: the code only counts brackets to find the value's end.
"""

import json
import mmap
import re
from collections.abc import Iterator
from typing import IO, Any

# Skipping a value needs only these tokens: strings and brackets. A quote that begins no complete
# string is an error.
_TOKEN = re.compile(rb'"(?>(?:[^"\\]++|\\.)*)"|[\[\]{}"]', re.DOTALL)
_STRING = re.compile(rb'"(?>(?:[^"\\]++|\\.)*)"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\[\]{}\":]++")
_KEY = re.compile(rb'[\s,]*+("(?>(?:[^"\\]++|\\.)*)")\s*+:\s*+', re.DOTALL)
_BETWEEN = re.compile(rb"[\s,]*+")
_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*+")
_LONGEST_SCALAR = 40  # bytes
# The largest number of brackets and strings in a file. The largest real exports have about
# 5,000,000 brackets and strings.
MOST_TOKENS = 10_000_000


class JSONFormatError(ValueError):
    """The file is not JSON, or has too many values."""


class JSONFile:
    """A JSON file on disk.

    The methods identify a value by the position of the value's first byte.
    """

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise JSONFormatError from None
        self._left = MOST_TOKENS
        start = _START.match(self._data)
        self.root = start.end() if start else 0

    def member(self, at: int | None, name: bytes) -> int | None:
        """Return the position of the member `name` in the object at `at`, or None."""
        found = [value for key, value in self._members(at) if key == name][-1:]
        return found[0] if found else None

    def elements(self, at: int | None) -> Iterator[int]:
        """Yield the position of each element of the array at `at`."""
        if at is None or not self._begins(at, b"["):
            return
        at += 1
        while True:
            at = self._after_blanks(at)
            if self._begins(at, b"]"):
                return
            yield at
            at = self._end_of(at)

    def is_array(self, at: int | None) -> bool:
        """Whether the value at `at` is an array."""
        return at is not None and self._begins(at, b"[")

    def scalars(self, at: int, *names: bytes, longest: int) -> dict[str, Any]:
        """Return the members with these names, from the object at position `at`.

        An object, an array, or a text of more than `longest` bytes is None in the result.
        """
        found: dict[str, Any] = {}
        for key, value in self._members(at):
            if key in names:
                found[key.decode()] = self._scalar(value, longest)
        return found

    def _members(self, at: int | None) -> Iterator[tuple[bytes, int]]:
        if at is None or not self._begins(at, b"{"):
            return
        at += 1
        while key := _KEY.match(self._data, at):
            yield self._data[key.start(1) + 1 : min(key.end(1) - 1, key.start(1) + 100)], key.end()
            at = self._end_of(key.end())
        if not self._begins(self._after_blanks(at), b"}"):
            raise JSONFormatError

    def _scalar(self, at: int, longest: int) -> Any:
        if self._begins(at, b'"'):
            end = self._end_of(at)
            # Do not count the two quotes.
            if end - at - 2 > longest:
                return None
            text = self._data[at:end].decode("utf-8", "replace")
        else:
            found = _SCALAR.match(self._data, at, at + _LONGEST_SCALAR)
            text = found[0].decode("ascii", "replace") if found else "null"
        try:
            return json.loads(text, strict=False)
        except ValueError:
            raise JSONFormatError from None

    def _begins(self, at: int, what: bytes) -> bool:
        return self._data[at : at + 1] == what

    def _after_blanks(self, at: int) -> int:
        found = _BETWEEN.match(self._data, at)
        return found.end() if found else at

    def _end_of(self, at: int) -> int:
        """Return where the value at `at` ends."""
        self._left -= 1
        if self._left < 0:
            raise JSONFormatError
        if not (self._begins(at, b"{") or self._begins(at, b"[")):
            pattern = _STRING if self._begins(at, b'"') else _SCALAR
            if not (scalar := pattern.match(self._data, at)):
                raise JSONFormatError
            return scalar.end()
        depth = 0
        for token in _TOKEN.finditer(self._data, at):
            self._left -= 1
            what = token[0] if token.end() - token.start() == 1 else b""
            if what in (b"{", b"["):
                depth += 1
            elif what == b'"' or self._left < 0:
                raise JSONFormatError
            elif what:
                depth -= 1
                if not depth:
                    return token.end()
        raise JSONFormatError

"""Read entries of the catalogue: a promise, how to break it, and its tests.

    a call past its deadline does not begin
        Postmark._call: if «now_s() >= deadline_at_s → False»: return NotSent(
        test_expired_call_does_not_connect

The whole notation: docs/proof/guards.md.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.guards.source import Token, tokens_of

_MARK = re.compile(r"«(?P<goes>[^»→]*)(?:→(?P<comes>[^»]*))?»")
_CHANGE = re.compile(r"(?P<where>[\w./:-]+): (?P<fragment>.*«.*)")
_TEST = re.compile(r"(\w+::)*test_\w+(\[.*\])?")


class Mark(NamedTuple):
    """The tokens `first` up to `end` of a fragment, and the text to replace them."""

    first: int
    end: int
    text: str


@dataclass(frozen=True)
class Change:
    """A change in the function `where`: its fragment marks `«this → that»`.

    `«this»` is dropped, and `«→ that»` is added.
    """

    where: str
    fragment: str
    plain: str = field(init=False, compare=False)
    tokens: tuple[Token, ...] = field(init=False, compare=False)
    marks: tuple[Mark, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        plain, spans, last = "", [], 0
        for mark in _MARK.finditer(self.fragment):
            plain += self.fragment[last : mark.start()]
            spans.append((len(plain), len(plain + mark["goes"]), (mark["comes"] or "").strip()))
            plain, last = plain + mark["goes"], mark.end()
        plain += self.fragment[last:]
        tokens = tokens_of(plain)
        if tokens[-1].text == ",":
            tokens[-1] = tokens[-1]._replace(soft=True)
        marks = []
        for start, end, text in spans:
            if any(token.start < cut < token.end for token in tokens for cut in (start, end)):
                raise ValueError(f"«» must enclose whole words: {self.fragment}")
            before = sum(token.end <= start for token in tokens)
            marks.append(Mark(before, before + sum(start <= t.start < end for t in tokens), text))
        object.__setattr__(self, "plain", re.sub(r"\s+", " ", plain).strip())
        object.__setattr__(self, "tokens", tuple(tokens))
        object.__setattr__(self, "marks", tuple(marks))

    @property
    def words(self) -> list[str]:
        """The words to look for in the source."""
        return [token.text for token in self.tokens if not token.soft]


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard with its promise, and the tests that must fail without it.

    Several `changes` take out a guard and a second one that would hide its loss; `why` gives the
    reason. `sql` takes a guard out of the database.
    """

    promise: str
    changes: tuple[Change, ...] = ()
    sql: str = ""
    tests: tuple[str, ...] = ()
    why: str = ""


def guards(text: str) -> list[Guard]:
    """Read entries. Raises `ValueError` at a line that fits no part of an entry."""
    entries: list[list[str]] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            entries.append([line])
        elif line.startswith(" " * 8):
            entries[-1][-1] += f" {line.strip()}"
        else:
            entries[-1].append(line.strip())
    return [_read(*entry) for entry in entries]


def _read(promise: str, *lines: str) -> Guard:
    changes, sql, tests, why = [], "", [], ""
    for line in lines:
        if line.startswith("why: "):
            why = line.removeprefix("why: ")
        elif line.startswith("sql: "):
            sql = line.removeprefix("sql: ")
        elif _TEST.fullmatch(line):
            tests.append(line)
        elif change := _CHANGE.fullmatch(line):
            changes.append(Change(change["where"], change["fragment"]))
        else:
            known = "change, test, `sql:` or `why:` (docs/proof/guards.md)"
            raise ValueError(f"{promise}: this line is no {known}: {line}")
    return Guard(promise, tuple(changes), sql, tuple(tests), why)

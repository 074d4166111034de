"""Read entries of the catalogue: a promise, how to break it, and its tests.

    a call past its deadline does not begin
        Postmark._call: if «now_s() >= deadline_at_s → False»: return NotSent(
        test_expired_call_does_not_connect

docs/proof/guards.md describes the whole notation.
"""

import re
from dataclasses import dataclass, field

_MARK = re.compile(r"«(?P<goes>[^»→]*)(?:→(?P<comes>[^»]*))?»")
_CHANGE = re.compile(r"(?P<where>[\w./:-]+): (?P<fragment>.*«.*)")
_TEST = re.compile(r"(\w+::)*test_\w+(\[.*\])?")

_QUOTE = r"[rbfuRBFU]{0,2}(?:\"{3}|'{3}|[\"'])"
_TOKEN = re.compile(rf"{_QUOTE}|\w+|[<>=!:+-]=|<>|[|:*/]{{2}}|->|[«»]|[^\w\s]")
# Differences in layout do not matter: blanks, quotes, and the comma before a closing bracket.
_GAP = rf"(?:\s|{_QUOTE})*"


@dataclass(frozen=True)
class Change:
    """A change in the function `where`: a code fragment with marks `«this → that»`.

    The mark `«this»` deletes code, and the mark `«→ that»` adds code. `pattern` matches
    the fragment in any layout, with a group for each mark. `texts` are the replacements for the
    groups.
    """

    where: str
    fragment: str
    plain: str = field(init=False, compare=False)
    pattern: re.Pattern[str] = field(init=False, compare=False)
    texts: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        texts = tuple((mark["comes"] or "").strip() for mark in _MARK.finditer(self.fragment))
        plain = re.sub(r"\s+", " ", _MARK.sub(lambda mark: mark["goes"], self.fragment)).strip()
        marked = _MARK.sub(lambda mark: f"«{mark['goes']}»", self.fragment)
        object.__setattr__(self, "plain", plain)
        object.__setattr__(self, "pattern", re.compile(_pattern_of(marked)))
        object.__setattr__(self, "texts", texts)


def _pattern_of(fragment: str) -> str:
    """Return a regular expression for a fragment in any layout, with marks as groups."""
    words = _TOKEN.findall(fragment)
    pattern = gap = ""
    for number, word in enumerate(words):
        after = [each for each in words[number + 1 :] if each not in {"«", "»"}]
        if word == "«" and words[number + 1] != "»":
            # A quote at the edge of a mark belongs to the mark.
            pattern += (gap and r"\s*" if _is_quote(after[0]) else gap) + "("
            gap = ""
        elif word in {"«", "»"}:
            pattern += "()"[word == "»"]
        elif _is_quote(word):
            pattern += rf"(?:\s*{_QUOTE})?" if gap else f"(?:{_QUOTE}{_GAP})?"
        elif word == "," and (not after or after[0] in ")]}"):
            pattern += f"(?:{gap},)?"
        else:
            edge = r"\b" if word[-1].isalnum() or word[-1] == "_" else ""
            comma = f"(?:{gap},)?" if word in ")]}" else ""
            pattern += f"{comma}{gap}{edge}{re.escape(word)}{edge}"
            gap = _GAP
    return pattern


def _is_quote(word: str) -> bool:
    return word.endswith(("'", '"'))


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard with its promise, and the tests that must fail without it.

    If there are several `changes`, they also take out a second guard, which would hide the loss of
    the first guard. `why` gives the reason. `sql` takes a guard out of the database.
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

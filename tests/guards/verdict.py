"""What a run of tests says about a guard. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

# A replacement that does not run proves nothing about the guard whose place it took.
_NO_PROGRAM = re.compile(
    r"\b(SyntaxError|IndentationError|NameError|ImportError|ModuleNotFoundError|"
    r"UnboundLocalError|AttributeError|ProgrammingError)\b"
)
_OUT_OF_TIME = "from pytest-timeout"


class Case(NamedTuple):
    """A test that ran: in which phase it failed, if it did, and what it said then."""

    test: str
    failed_in: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """
    What became of a run: the tests that failed, the first failure's words, or why it says nothing.

    `unfit` are those that did not pass, whatever the reason.
    """

    failed: tuple[str, ...] = ()
    unfit: frozenset[str] = frozenset()
    words: str = ""
    broken: str = ""
    seconds: float = 0.0


def read(cases: Iterable[Case], seconds: float = 0.0) -> Run:
    """
    Weigh what became of each test.

    A failure counts only where the test itself failed: not while it was collected or set up, not
    because time ran out, and not because the changed text is no working program.
    """
    failed: list[str] = []
    unfit: set[str] = set()
    words, broken = "", "no test was run"
    for test, failed_in, said in cases:
        broken = "" if broken == "no test was run" else broken
        line = said.strip().split("\n", 1)[0][:200]
        if not failed_in:
            continue
        unfit.add(without_case(test))
        if failed_in != "call":
            broken = broken or f"{test} could not be run: {line}"
        elif _OUT_OF_TIME in line:
            broken = broken or f"{test} ran out of time, which proves nothing"
        elif _NO_PROGRAM.search(line):
            broken = broken or f"{test}: {line}"
        else:
            failed.append(without_case(test))
            words = words or line
    return Run(tuple(failed), frozenset(unfit), words, "" if failed else broken, seconds)


def without_case(test: str) -> str:
    """The node id of a test without the case that it was given."""
    return test.partition("[")[0]

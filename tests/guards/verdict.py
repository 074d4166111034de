"""Decide from the results of tests whether a guard was noticed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

# Errors in the changed code itself, which do not show that a test noticed the missing guard.
_NO_PROGRAM = re.compile(
    r"\b(SyntaxError|IndentationError|NameError|ImportError|ModuleNotFoundError|"
    r"UnboundLocalError|AttributeError|ProgrammingError)\b"
)
_OUT_OF_TIME = "from pytest-timeout"


class Case(NamedTuple):
    """The result of a test: the phase in which it failed, if any, and the message."""

    test: str
    failed_in: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run: the failed tests, or why the run proves nothing (`broken`).

    `words` is the first failure's message. `unfit` are all tests that did not pass.
    """

    failed: tuple[str, ...] = ()
    unfit: frozenset[str] = frozenset()
    words: str = ""
    broken: str = ""
    seconds: float = 0.0


def read(cases: Iterable[Case], seconds: float = 0.0) -> Run:
    """Judge the results of the tests.

    Only a failure in the body of a test counts. These do not count: a failed collection or set-up,
    a time-out, and an error that only shows broken code.
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
    """Return a test's node id without its parameters."""
    return test.partition("[")[0]

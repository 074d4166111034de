"""What a run of tests says about a guard. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ElementTree

# A replacement that does not run proves nothing about the guard whose place it took.
_NO_PROGRAM = re.compile(
    r"\b(SyntaxError|IndentationError|NameError|ImportError|ModuleNotFoundError|"
    r"UnboundLocalError|AttributeError|ProgrammingError)\b"
)
_OUT_OF_TIME = "from pytest-timeout"


@dataclass(frozen=True, slots=True)
class Run:
    """
    What became of a run: the tests that failed, the first failure's words, or why it says nothing.
    """

    failed: tuple[str, ...] = ()
    words: str = ""
    broken: str = ""
    seconds: float = 0.0


def read(report: ElementTree, seconds: float) -> Run:
    """
    Read a report of pytest.

    A failure counts only where the test itself failed: not while it was collected or set up, not
    because time ran out, and not because the changed text is no working program.
    """
    failed: list[str] = []
    words = broken = ""
    cases = list(report.iter("testcase"))
    for case in cases:
        name = f"{case.get('classname')}.{(case.get('name') or '').partition('[')[0]}"
        failure = case.find("failure")
        if failure is not None:
            said = _said(failure)
            if _OUT_OF_TIME in said:
                broken = broken or f"{name} ran out of time, which proves nothing"
            elif _NO_PROGRAM.search(said):
                broken = broken or f"{name}: {said}"
            else:
                failed.append(name)
                words = words or said
        elif (error := case.find("error")) is not None:
            broken = broken or f"{name} could not be run: {_said(error)}"
    if not cases:
        broken = "no test was run"
    return Run(tuple(failed), words, "" if failed else broken, seconds)


def as_reported(node: str) -> str:
    """How a report names the test with this node id."""
    return node.partition("[")[0].replace("/", ".").replace(".py::", ".").replace("::", ".")


def _said(element: Element) -> str:
    """The first line of what a failure says."""
    return (element.get("message") or "").strip().split("\n", 1)[0][:200]

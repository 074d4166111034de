"""A guard counts as missed only where a test itself fails, and shares leave no guard out."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.guards.__main__ import Share
from tests.guards.catalogue import GUARDS
from tests.guards.guard import ROOT, Change
from tests.guards.verdict import Run, as_reported, read


def report(*cases: str) -> Run:
    text = f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"
    root = ElementTree.fromstring(text)  # noqa: S314 -- written right here
    return read(ElementTree.ElementTree(root), 1.0)


def case(inside: str = "", name: str = "test_it[one]") -> str:
    return f'<testcase classname="tests.delivery.test_x" name="{name}">{inside}</testcase>'


def test_a_test_that_fails_has_noticed() -> None:
    run = report(case(), case('<failure message="assert 2 == 1">…</failure>'))

    assert run.failed == ("tests.delivery.test_x.test_it",)
    assert run.failed == (as_reported("tests/delivery/test_x.py::test_it"),)
    assert (run.words, run.broken) == ("assert 2 == 1", "")


@pytest.mark.parametrize(
    ("cases", "reason"),
    [
        ([], "no test was run"),
        ([case('<error message="failed on setup"/>')], "could not be run: failed on setup"),
        ([case('<failure message="NameError: name"/>')], "NameError"),
        (
            [case('<failure message="django.db.utils.ProgrammingError: syntax"/>')],
            "ProgrammingError",
        ),
        (
            [case('<failure message="Failed: Timeout (&gt;90.0s) from pytest-timeout."/>')],
            "ran out of time",
        ),
    ],
)
def test_what_proves_nothing_is_not_taken_for_a_failure(cases: list[str], reason: str) -> None:
    run = report(*cases)

    assert not run.failed
    assert reason in run.broken


def test_tests_that_pass_say_nothing_is_wrong() -> None:
    assert report(case()) == Run(seconds=1.0)


@pytest.mark.parametrize("seed", [0, 1, 206_397_160])
def test_all_shares_together_are_all_guards_and_none_twice(seed: int) -> None:
    drawn = [
        guard.promise for number in (1, 2, 3) for guard in Share(number, 3).drawn_from(GUARDS, seed)
    ]

    assert len(drawn) == len(GUARDS)
    assert set(drawn) == {guard.promise for guard in GUARDS}


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b"])
def test_a_share_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Share.read(text)


def test_a_text_that_stands_nowhere_or_twice_can_not_be_taken_out() -> None:
    file = "tests/guards/test_what_counts_as_noticed.py"

    assert "stands 0 times" in Change(file, "wings" + "pan", "").fault_in(ROOT)
    assert "times in" in Change(file, "assert", "").fault_in(ROOT)
    assert "there is no file" in Change("nothing.py", "x", "").fault_in(ROOT)

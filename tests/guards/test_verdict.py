"""A guard counts as noticed only if a test itself fails."""

import pytest

from tests.guards.notation import guards
from tests.guards.verdict import Case, Run, read

IT = "tests/delivery/test_x.py::test_it[one]"


def test_a_failing_test_notices_the_missing_guard() -> None:
    run = read([Case(IT), Case(IT, "call", "assert 2 == 1\n  and more")])

    assert (run.failed, run.words) == (("tests/delivery/test_x.py::test_it",), "assert 2 == 1")


@pytest.mark.parametrize(
    ("cases", "reason"),
    [
        ([], "no test was run"),
        ([Case(IT, "setup", "failed")], "could not be run: failed"),
        ([Case("tests/delivery/test_x.py", "collection", "E")], "could not be run: E"),
        ([Case(IT, "call", "NameError: name")], "NameError"),
        ([Case(IT, "call", "django.db.utils.ProgrammingError: syntax")], "ProgrammingError"),
        ([Case(IT, "call", "Failed: Timeout (>90.0s) from pytest-timeout.")], "ran out of time"),
    ],
)
def test_inconclusive_results_are_not_failures(cases: list[Case], reason: str) -> None:
    run = read(cases)

    assert not run.failed
    assert len(run.unfit) == len(cases)
    assert reason in run.broken


def test_passing_tests_do_not_notice_a_missing_guard() -> None:
    assert read([Case(IT)], 1.0) == Run(seconds=1.0)


def test_line_outside_the_notation_is_refused() -> None:
    with pytest.raises(ValueError, match="a promise: this line is no change"):
        guards("a promise\n    take: nothing is marked here\n")

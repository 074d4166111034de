"""How long a worker retries a write, and which errors are transient."""

import psycopg
import pytest
from django.db import DataError, IntegrityError, InterfaceError, InternalError, OperationalError
from django.db.utils import Error
from hypothesis import given
from hypothesis import strategies as st
from psycopg import errors

from delivery.monitoring.database_fault import DatabaseFault, is_transient
from delivery.provider.deadline_clock import now_s
from delivery.worker.retry_write import LONGEST_PAUSE_S, pause_after, retry_write

FAILURES = st.integers(1, 10_000)
JITTER = st.floats(0, 1)
LEFT_S = st.floats(-1000, 1000)


@given(jitter=JITTER, left_s=LEFT_S)
def test_second_try_always_follows_at_once(jitter: float, left_s: float) -> None:
    assert pause_after(1, jitter, left_s) == 0


@given(failures=FAILURES, jitter=JITTER, left_s=st.floats(-1000, 0))
def test_no_third_try_without_time_left(failures: int, jitter: float, left_s: float) -> None:
    assert pause_after(failures + 1, jitter, left_s) is None


@given(failures=FAILURES, jitter=JITTER, left_s=st.floats(0.001, 1000))
def test_a_pause_ends_within_the_time_left(failures: int, jitter: float, left_s: float) -> None:
    pause = pause_after(failures + 1, jitter, left_s)
    assert pause is not None
    assert 0 < pause <= min(left_s, LONGEST_PAUSE_S)


def test_pauses_grow_to_the_longest_one() -> None:
    assert [pause_after(many, 1.0, 1000) for many in (3, 4, 9, 20)] == [
        0.2,
        0.4,
        LONGEST_PAUSE_S,
        LONGEST_PAUSE_S,
    ]


def raised(error: type[Error], cause: psycopg.Error) -> Error:
    """Wrap the driver's error as Django does, with that error as the cause."""
    wrapped = error("it went wrong")
    wrapped.__cause__ = cause
    return wrapped


@pytest.mark.parametrize(
    "error",
    [
        raised(OperationalError, errors.AdminShutdown()),
        raised(OperationalError, errors.DiskFull()),
        raised(InterfaceError, psycopg.InterfaceError()),
        raised(InternalError, psycopg.InternalError("got no result from the query")),
        raised(InternalError, errors.IdleInTransactionSessionTimeout()),
        raised(InternalError, errors.ReadOnlySqlTransaction()),
    ],
    ids=lambda error: type(error.__cause__).__name__,
)
def test_database_faults_are_transient(error: Error) -> None:
    assert is_transient(error)


@pytest.mark.parametrize(
    "error",
    [
        raised(IntegrityError, errors.CheckViolation()),
        raised(DataError, errors.NumericValueOutOfRange()),
        raised(InternalError, errors.DataCorrupted()),
        InternalError("without a cause"),
    ],
    ids=str,
)
def test_permanent_errors_are_not_transient(error: Error) -> None:
    assert not is_transient(error)


def write_through(*results: Error | str, left_s: float = 1000, stops: bool = False) -> str:
    """Retry a write; each try raises or returns the next one of these results."""
    left = list(results)

    def write() -> str:
        result = left.pop(0)
        if isinstance(result, Error):
            raise result
        return result

    return retry_write(
        write,
        what="an answer",
        work="call",
        fault=DatabaseFault(now_s),
        until_s=now_s() + left_s,
        is_stopping=lambda: stops,
        jitter=lambda: 0.0,
    )


CUT = OperationalError("the connection is closed")


@pytest.mark.django_db
@pytest.mark.parametrize("stops", [False, True])
def test_a_stopping_worker_still_retries_a_write_for_a_while(stops: bool) -> None:
    assert write_through(CUT, CUT, CUT, "written", stops=stops) == "written"


@pytest.mark.django_db
def test_last_error_is_raised_when_the_time_has_ended() -> None:
    last = OperationalError("the last")
    with pytest.raises(OperationalError, match="the last"):
        write_through(CUT, last, "never reached", left_s=-1)


@pytest.mark.django_db
def test_an_error_about_data_is_raised_at_once() -> None:
    with pytest.raises(IntegrityError):
        write_through(IntegrityError("a check"), "never reached")

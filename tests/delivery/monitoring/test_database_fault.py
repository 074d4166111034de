"""A fault of the database: its errors, its beginning and end, and its log lines."""

import logging

import pytest
from django.db import Error, connection

from delivery.monitoring.database_fault import DatabaseFault
from delivery.rules.reason import ReasonCode

pytestmark = pytest.mark.django_db(transaction=True)

WRITE = "INSERT INTO metric_value (name, labels, value) VALUES ('a', '{}', 1)"


class Clock:
    """A clock that a test sets."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def error_of(*statements: str) -> Error:
    """Run the statements and return the real error of the last one."""
    try:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    except Error as error:
        return error
    finally:
        connection.close()
    pytest.fail("no statement failed")


FAULTS = {
    ReasonCode.READ_ONLY: ("SET default_transaction_read_only = on", WRITE),
    ReasonCode.NO_PERMISSION: ("SET ROLE pg_monitor", WRITE),
    ReasonCode.WRONG_ENCODING: ("SELECT convert_to('“', 'LATIN1')",),
    ReasonCode.WRITES_FAIL: ("DO 'BEGIN RAISE lock_not_available; END'",),
}


@pytest.mark.parametrize("code", FAULTS)
def test_repeated_failures_are_a_fault_until_that_work_succeeds(code: ReasonCode) -> None:
    error, clock = error_of(*FAULTS[code]), Clock()
    fault = DatabaseFault(clock)
    for _ in range(3):
        fault.explains(error, "call", clock())
    assert fault.problem() is None
    clock.now_s += 6
    assert fault.explains(error, "call", clock())
    problem = fault.problem()
    assert problem is not None
    sqlstate = error.__cause__.sqlstate  # type: ignore[union-attr]
    assert (problem.code, problem.params) == (code, {"sqlstate": sqlstate, "for_s": 6})

    # A successful heartbeat does not end the fault, because small updates succeed on a full disk.
    fault.succeeded("heartbeat")
    assert fault.problem() is not None
    fault.succeeded("call")
    assert fault.problem() is None


def test_a_fault_that_comes_back_keeps_its_age() -> None:
    error, clock = error_of(*FAULTS[ReasonCode.READ_ONLY]), Clock()
    fault = DatabaseFault(clock)
    ages = []
    for pause_s in (0, 100, 130):
        clock.now_s += pause_s
        for _ in range(2):
            fault.explains(error, "call", clock())
            clock.now_s += 6
        fault.explains(error, "call", clock())
        problem = fault.problem()
        ages.append(problem and problem.params["for_s"])
        fault.succeeded("call")
    assert ages == [12, 124, 12]


def test_a_success_between_two_failures_prevents_a_fault() -> None:
    error, clock = error_of(*FAULTS[ReasonCode.READ_ONLY]), Clock()
    fault = DatabaseFault(clock)
    for _ in range(5):
        fault.explains(error, "call", clock())
        assert fault.problem() is None
        fault.succeeded("call")
        clock.now_s += 6


@pytest.mark.parametrize(
    "statements",
    [
        (WRITE, WRITE),
        (r"""SELECT '{"a": "\u0000"}'::jsonb""",),
        ("DO 'BEGIN RAISE ''no such batch''; END'",),
    ],
)
def test_errors_about_data_are_no_fault(statements: tuple[str, ...]) -> None:
    error, clock = error_of(*statements), Clock()
    fault = DatabaseFault(clock)
    for _ in range(5):
        assert not fault.explains(error, "call", clock())
        clock.now_s += 6
    assert fault.problem() is None


def test_work_that_is_not_tried_again_prolongs_no_fault() -> None:
    error, clock = error_of(*FAULTS[ReasonCode.NO_PERMISSION]), Clock()
    fault = DatabaseFault(clock)
    for seconds in (0, 6):
        clock.now_s += seconds
        fault.explains(error, "an hourly task", clock())
    clock.now_s += 119
    fault.succeeded("heartbeat")
    assert fault.problem() is not None
    clock.now_s += 2
    fault.succeeded("heartbeat")
    assert fault.problem() is None


def test_a_fault_logs_its_begin_each_minute_and_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="delivery.monitoring.database_fault")
    error, clock = error_of(*FAULTS[ReasonCode.READ_ONLY]), Clock()
    fault = DatabaseFault(clock)
    # The caller must log only the first failure. The fault that is already known explains the later
    # failures.
    assert [fault.explains(error, work, clock()) for work in ("call", "call", "beat")] == [
        False, True, True,
    ]  # fmt: skip
    for _ in range(1300):
        clock.now_s += 0.1
        assert fault.explains(error, "call", clock())
    fault.succeeded("call")
    fault.succeeded("beat")

    lines = [record.getMessage() for record in caplog.records]
    assert [line.split(" (")[0] for line in lines] == [
        "writes to the database fail",
        "the fault of the database continues",
        "the fault of the database continues",
        "writes to the database work again",
    ]
    assert "cannot execute INSERT in a read-only transaction" in lines[0]
    assert "after 130 s" in lines[-1]

"""The fault of the database, for all threads of a process, and its log lines.

Dozens of errors a minute from every thread would hide that they have one cause.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg
from django.apps import apps
from django.db import Error, InterfaceError, OperationalError, connection
from django.db.backends.utils import CursorWrapper

from delivery.rules.reason import Reason, ReasonCode

logger = logging.getLogger(__name__)

# Work “fails repeatedly” if it fails several times with the same code over at least this time.
REPEATED_AFTER_S = 5.0
# If there was no failure for this time, a fault has ended. This time is longer than the longest
# pause between two tries (delivery/worker/worker_process.py).
QUIET_AFTER_S = 120.0
LOG_EVERY_S = 60.0

# In SQL: whether this session cannot write.
IS_READ_ONLY = "(pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool)"
_OTHERS = ("django", "axes")
READ_ONLY = Reason.of(ReasonCode.READ_ONLY, sqlstate="25006")

_BY_SQLSTATE = {
    "53100": ReasonCode.DISK_FULL,
    "25006": ReasonCode.READ_ONLY,
    "42501": ReasonCode.NO_PERMISSION,
    "22P05": ReasonCode.WRONG_ENCODING,
    "22021": ReasonCode.WRONG_ENCODING,
}
_STOPS_ALL_WRITES = (ReasonCode.DISK_FULL, ReasonCode.READ_ONLY, ReasonCode.NO_PERMISSION)
# Errors that only the data of one statement causes: classes 21 to 23; limits, such as the size of a
# row in an index (54); errors of our own triggers (P0).
_ABOUT_DATA = ("21", "22", "23", "54", "P0")


def sqlstate_of(error: Error) -> str:
    """Return PostgreSQL's code of an error; empty if the connection was cut."""
    return getattr(error.__cause__, "sqlstate", None) or ""


def fault_of(error: Error) -> ReasonCode | None:
    """Return the fault that an error may show; None for an error about data."""
    sqlstate = sqlstate_of(error)
    code = _BY_SQLSTATE.get(sqlstate)
    if code and not (code is ReasonCode.WRONG_ENCODING and _is_about_nul(error)):
        return code
    # If the driver refuses data, the error has no code. The error of a lost connection also has no
    # code.
    is_about_data = not sqlstate and not is_transient(error)
    if is_about_data or sqlstate.startswith(_ABOUT_DATA):
        return None
    return ReasonCode.WRITES_FAIL


def _is_about_nul(error: Error) -> bool:
    """Whether the error is about U+0000, which no encoding of PostgreSQL can hold."""
    return any(mark in str(error) for mark in (r"\u0000", ": 0x00"))


def stops_all_writes(error: BaseException) -> bool:
    """Whether other writes fail too, even with other data.

    All writes fail on a full disk, in a read-only database or without a permission. A fault of a
    lock or an encoding may concern only one row.
    """
    return isinstance(error, Error) and fault_of(error) in _STOPS_ALL_WRITES


def is_transient(error: Error) -> bool:
    """Whether the error is a temporary fault of the database.

    Such faults are a cut connection, a restart, a deadlock and a full disk. An error about data is
    permanent, because the same batch would cause it again. Errors of class 25 are temporary too,
    although the driver calls them internal errors. Class 25 includes a session that was idle in a
    transaction for too long (25P03), and a read-only database (25006). See PostgreSQL, appendix A.
    An internal error without a code is psycopg's own and means a cut connection.
    """
    if isinstance(error, OperationalError | InterfaceError):
        return True
    sqlstate = sqlstate_of(error)
    if isinstance(error.__cause__, psycopg.InternalError) and not sqlstate:
        return True
    return sqlstate.startswith("25")


def cause_of(error: BaseException) -> str:
    """Name an error and its cause in one line, for operators.

    The line has only the first part of PostgreSQL's message, because the other parts quote rows and
    statements.
    """
    diagnostics = getattr(error.__cause__, "diag", None)
    words = getattr(diagnostics, "message_primary", None) or str(error)
    return f"{type(error).__name__}: {' '.join(words.split()) or 'no message'}"


def load_refusals(cursor: CursorWrapper) -> list[Reason]:
    """Return why the database would refuse writes of this session.

    Tables of Django and other packages do not count. Homing may lack rights for such tables:
    another role may apply migrations, or an operator may forbid deletions from Django's log.
    """
    ours = [model for model in apps.get_models() if not model.__module__.startswith(_OTHERS)]
    cursor.execute(
        f"""
        SELECT {IS_READ_ONLY},
               coalesce(bool_or(NOT (
                   has_table_privilege(id, 'SELECT') AND has_table_privilege(id, 'INSERT')
                   AND has_table_privilege(id, 'UPDATE') AND has_table_privilege(id, 'DELETE'))),
                   false)
        FROM (SELECT to_regclass(quote_ident(name))::oid AS id FROM unnest(%s::text[]) AS name)
             AS known
        """,  # noqa: S608 -- a constant
        [[model._meta.db_table for model in ours]],
    )
    is_read_only, lacks_permission = cursor.fetchone()
    found = []
    if is_read_only:
        found.append(READ_ONLY)
    if lacks_permission:
        found.append(Reason.of(ReasonCode.NO_PERMISSION, sqlstate="42501"))
    return found


@dataclass(slots=True)
class _Streak:
    """Consecutive failures of one kind of work."""

    code: ReasonCode
    sqlstate: str
    began_s: float
    failures: int = 0


@dataclass(slots=True)
class _Fault:
    """A fault of the database, and in `stopped` the last failure of each kind of work."""

    code: ReasonCode
    sqlstate: str
    since_s: float
    logged_s: float
    failures: int = 0
    unlogged: int = 0
    stopped: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.code} {self.sqlstate}".strip()


class DatabaseFault:
    """The current fault of the database, for all threads of one process. Thread-safe.

    Callers report failed and successful work by its kind, such as “call” or “heartbeat”. A fault
    ends when each kind of work that failed has succeeded, because small updates often succeed on
    a full disk. Times that callers give are readings of `clock`.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._fault: _Fault | None = None
        self._ended: tuple[_Fault, float] | None = None  # The last fault, and when it ended.
        self._streaks: dict[str, _Streak] = {}
        self._was_reached_s = float("-inf")
        self._lock = threading.Lock()

    def problem(self) -> Reason | None:
        """Return the current fault as a problem of this process."""
        fault = self._fault
        if fault is None:
            return None
        for_s = round(self._clock() - fault.since_s)
        return Reason.of(fault.code, sqlstate=fault.sqlstate, for_s=for_s)

    def explains(self, error: BaseException, work: str, began_s: float) -> bool:
        """Record that `work` failed, and return whether its cause is already logged.

        The cause is already logged if a fault continues or has just begun, or if an outage ended
        after `began_s`. The cause is also logged if the error's code needs an operator and an
        earlier failure had this code. Call this method within the `except`, without an open
        transaction. The call may take as long as connecting to the database.
        """
        if not isinstance(error, Error) or (code := fault_of(error)) is None:
            return False
        with self._lock:
            if code is ReasonCode.WRITES_FAIL and is_transient(error):
                if self._is_away():
                    return self._count(work)
                # Another thread may have noticed the end of the outage before this thread reported
                # its error.
                if began_s <= self._was_reached_s:
                    return True
                if (refused := _refusal()) is not None:
                    self._begin(ReasonCode.DATABASE_UNREACHABLE, "", self._clock(), refused)
                    return self._count(work)
            elif self._is_away():
                self._end()
            return self._record(work, code, sqlstate_of(error), error)

    def succeeded(self, work: str) -> None:
        """Record a success of `work`, and log the end of a fault.

        This takes almost no time if there is no fault.
        """
        if self._fault is None and not self._streaks:
            return
        with self._lock:
            self._streaks.pop(work, None)
            if self._fault is None:
                return
            if self._is_away():
                if _refusal() is None:
                    self._end()
                return
            quiet_since_s = self._clock() - QUIET_AFTER_S
            self._fault.stopped = {
                other: failed_s
                for other, failed_s in self._fault.stopped.items()
                if other != work and failed_s > quiet_since_s
            }
            if not self._fault.stopped:
                self._end()

    def _is_away(self) -> bool:
        return self._fault is not None and self._fault.code is ReasonCode.DATABASE_UNREACHABLE

    def _record(self, work: str, code: ReasonCode, sqlstate: str, error: Error) -> bool:
        is_logged = code is not ReasonCode.WRITES_FAIL and any(
            streak.code is code for streak in self._streaks.values()
        )
        streak = self._streaks.get(work)
        if streak is None or streak.sqlstate != sqlstate:
            streak = self._streaks[work] = _Streak(code, sqlstate, self._clock())
        streak.failures += 1
        # A code that needs an operator counts as repeated after fewer failures than a cut
        # connection or a deadlock.
        is_repeated = streak.failures >= (3 if code is ReasonCode.WRITES_FAIL else 2)
        is_repeated = is_repeated and self._clock() - streak.began_s >= REPEATED_AFTER_S
        if self._fault is None and is_repeated:
            self._begin(code, sqlstate, streak.began_s, error)
        if self._fault is not None and self._fault.sqlstate == sqlstate:
            return self._count(work)
        return is_logged

    def _begin(self, code: ReasonCode, sqlstate: str, since_s: float, error: Error) -> None:
        last, ended_s = self._ended or (None, 0.0)
        if last and last.code is code and self._clock() - ended_s < QUIET_AFTER_S:
            # On a full disk small writes succeed now and then, so the same fault comes back.
            since_s = last.since_s
        self._fault = _Fault(code, sqlstate, since_s, logged_s=self._clock())
        if code is ReasonCode.DATABASE_UNREACHABLE:
            logger.error(
                "the database cannot be reached; nothing is lost, and work is retried: %s",
                cause_of(error),
                exc_info=error,
            )
            return
        # The message of an unknown error may quote a row.
        cause = "" if code is ReasonCode.WRITES_FAIL else f": {cause_of(error)}"
        logger.error(
            "writes to the database fail (%s); nothing is lost, and they are tried again%s",
            self._fault,
            cause,
            exc_info=error,
        )

    def _count(self, work: str) -> bool:
        if (fault := self._fault) is not None:
            fault.failures += 1
            fault.unlogged += 1
            fault.stopped[work] = self._clock()
            if (silent_s := self._clock() - fault.logged_s) >= LOG_EVERY_S:
                logger.warning(
                    "the fault of the database continues (%s): %d more failures in %.0f s",
                    fault,
                    fault.unlogged,
                    silent_s,
                )
                fault.logged_s, fault.unlogged = self._clock(), 0
        return True

    def _end(self) -> None:
        if (fault := self._fault) is None:
            return
        self._fault = None
        self._streaks.clear()
        lasted_s = self._clock() - fault.since_s
        if fault.code is ReasonCode.DATABASE_UNREACHABLE:
            self._was_reached_s = self._clock()
            logger.info("the database is back, after %.0f s", lasted_s)
        else:
            self._ended = fault, self._clock()
            logger.info(
                "writes to the database work again (%s), after %.0f s and %d failures",
                fault.code,
                lasted_s,
                fault.failures,
            )


# The fault of the database in a web process. The thread that writes the metrics reports its
# failures and successes to this object.
fault_of_web_process = DatabaseFault(time.monotonic)


def _refusal() -> Error | None:
    """Return why a new connection fails; None if it succeeds.

    A successful connection stays open.
    """
    try:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error as error:
        connection.close()
        return error
    return None

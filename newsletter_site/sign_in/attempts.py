"""
The counts of failed sign-ins in the database: the only place that reads and writes them.

They stand in the table of django-axes. A try is counted as failed before the password is looked
at, and taken back when it turns out right: of a thousand that come at once no more are tried than
there are to spare. Every time is the database's. What is decided is decided in `patience`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from newsletter_site.sign_in.backoff import NONE, Failures, still_counting, wait_left_s
from newsletter_site.sign_in.throttle_keys import Count

_THIS_ONE = "username = %s AND ip_address = %s AND user_agent = ''"


@dataclass(frozen=True, slots=True)
class Taken:
    """
    A try that was counted: under what, when, and when the one before it was.

    `wait_s` is how long the next one has to wait if this one fails.
    """

    count: Count
    at: datetime
    before: datetime
    wait_s: float


@dataclass(frozen=True, slots=True)
class Refused:
    """No try for now; the next may be made in so many seconds."""

    wait_s: float


def take_a_try(counts: Sequence[Count]) -> tuple[Taken, ...] | Refused:
    """Count one try under each of these, or under none of them if one of them has to wait."""
    # A look first, that holds nothing: whoever is refused holds up nobody.
    found = [(count, _failures(count)) for count in counts]
    if wait_s := max(wait_left_s(failures, count.patience) for count, failures in found):
        for count, failures in found:
            if failures.last_s_ago < 0:
                _set_to_now(count)
        return Refused(wait_s)
    with transaction.atomic():
        held = [(count, *_hold(count)) for count in counts]
        wait_s = max(wait_left_s(failures, count.patience) for count, failures, _ in held)
        if wait_s:
            return Refused(wait_s)
        return tuple(
            _count_one_more(count, still_counting(failures, count.patience), before)
            for count, failures, before in held
        )


def take_back(taken: Sequence[Taken]) -> None:
    """The try was right so far: as though it had not been made."""
    with transaction.atomic(), connection.cursor() as cursor:
        for one in taken:
            _uncount(cursor, one)


def forget_after_success(taken: Sequence[Taken]) -> None:
    """Somebody signed in: their failures count no more, and of their network's this one."""
    with transaction.atomic(), connection.cursor() as cursor:
        for one in taken:
            if one.count.ends_with_success:
                cursor.execute(
                    f"DELETE FROM axes_accessattempt WHERE {_THIS_ONE}",  # noqa: S608
                    [one.count.hashed, one.count.network],
                )
            else:
                _uncount(cursor, one)


def forget_name(hashed: str) -> int:
    """An operator lets somebody in: their name's counts in every network. How many there were."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM axes_accessattempt WHERE username = %s", [hashed])
        return int(cursor.rowcount)


def _failures(count: Count) -> Failures:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT failures_since_start,
                   extract(epoch FROM clock_timestamp() - attempt_time)::float8
              FROM axes_accessattempt WHERE {_THIS_ONE}
            """,  # noqa: S608
            [count.hashed, count.network],
        )
        found = cursor.fetchone()
    return Failures(*found) if found else NONE


def _set_to_now(count: Count) -> None:
    """
    The clock was set back, and the last failure lies ahead: from now on its wait runs, and ends.

    It would stay whole until the clock has caught up otherwise.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE axes_accessattempt SET attempt_time = clock_timestamp()
             WHERE {_THIS_ONE} AND attempt_time > clock_timestamp()
            """,  # noqa: S608
            [count.hashed, count.network],
        )


def _hold(count: Count) -> tuple[Failures, datetime]:
    """The count, held until the transaction ends; made if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO axes_accessattempt AS known (
                username, ip_address, user_agent, http_accept, path_info, get_data, post_data,
                attempt_time, failures_since_start
            ) VALUES (%s, %s, '', '', '', '', '', clock_timestamp(), 0)
            ON CONFLICT (username, ip_address, user_agent)
            DO UPDATE SET failures_since_start = known.failures_since_start
            RETURNING failures_since_start,
                      extract(epoch FROM clock_timestamp() - attempt_time)::float8, attempt_time
            """,
            [count.hashed, count.network],
        )
        number, last_s_ago, at = cursor.fetchone()
    return Failures(number, last_s_ago), at


def _count_one_more(count: Count, failures: int, before: datetime) -> Taken:
    now = Failures(failures + 1, 0.0)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE axes_accessattempt
               SET failures_since_start = %s, attempt_time = clock_timestamp()
             WHERE {_THIS_ONE} RETURNING attempt_time
            """,  # noqa: S608
            [now.number, count.hashed, count.network],
        )
        (at,) = cursor.fetchone()
    return Taken(count, at, before, wait_left_s(now, count.patience))


def _uncount(cursor: CursorWrapper, one: Taken) -> None:
    cursor.execute(
        f"""
        UPDATE axes_accessattempt
           SET failures_since_start = greatest(failures_since_start - 1, 0),
               attempt_time = CASE attempt_time WHEN %s THEN %s ELSE attempt_time END
         WHERE {_THIS_ONE}
        """,  # noqa: S608
        [one.at, one.before, one.count.hashed, one.count.network],
    )

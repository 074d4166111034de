"""
The claim of a key: decides whether a post is the first one, and makes the others wait.

It never does the work and never builds a page. Everything it asks of PostgreSQL lasts for one
transaction (SET LOCAL, transaction-level locks), so it holds behind a transaction pooler too.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import OperationalError, connection, transaction
from psycopg import errors

from idempotency.isolation import ADVICE, REASON, WrongIsolationError
from idempotency.response_store import saved_answer
from idempotency.saved_response import Answer

# Each one who waits holds a server connection, and a person clicks no more often than this.
MOST_WAITING = 3
# One seat for the post that works and one for each that waits. Nobody knows beforehand which of
# them he will be, and whoever moves up from waiting to working keeps the seat he has.
SEATS = 1 + MOST_WAITING

# How soon the server notices that the process behind a running statement is gone.
GONE_CHECK = "500ms"
# A process that holds a claim and falls silent (frozen, or its machine lost) is cut off after
# this. Longer than a busy machine makes a healthy one wait between two statements.
LONGEST_SILENCE = "5s"


@dataclass(frozen=True)
class Fresh:
    """The key is claimed: do the work and save its answer in this transaction."""


@dataclass(frozen=True)
class Replay:
    """This form was posted before: give its answer again."""

    answer: Answer


@dataclass(frozen=True)
class OtherContent:
    """
    The key was used before, for a form with other content.

    `made` is where what came of that is to be seen, where its answer said so.
    """

    made: str = ""


@dataclass(frozen=True)
class Busy:
    """Another post with this key is still at work: look again in a moment."""


def earlier_post(
    user_id: UUID, key: str, fingerprints: Sequence[bytes]
) -> Replay | OtherContent | None:
    """
    Say what an earlier post with this key means for this one; None if there was none.

    Each of the fingerprints is of this content, as it may have been written.
    """
    saved = saved_answer(user_id, key)
    if saved is None:
        return None
    if saved.fingerprint in fingerprints:
        return Replay(saved.answer)
    return OtherContent(saved.answer.leads_to)


def claim(
    user_id: UUID, key: str, fingerprints: Sequence[bytes], *, wait_s: float
) -> Fresh | Replay | OtherContent | Busy:
    """
    Claim a key for this post, inside the transaction that will hold the work and its answer.

    The first of the fingerprints is written; any of them says that an earlier post was the same.

    Waits at most `wait_s` seconds in all for an earlier post to end. After anything but Fresh
    the transaction has nothing to commit. Raises WrongIsolationError unless it runs at READ
    COMMITTED.
    """
    timeout_before, seated = _prepare(user_id, key)
    if not seated:
        # Whoever holds the seats may just have been answered; then there is no need to wait.
        return earlier_post(user_id, key, fingerprints) or Busy()
    # statement_timeout and not lock_timeout: when posts fail one after the other, the INSERT
    # waits for each of them, and lock_timeout starts again every time. At 0 it would be off.
    _set_statement_timeout(f"{max(1, math.ceil(wait_s * 1000))}ms")
    try:
        inserted = _insert(user_id, key, fingerprints[0])
    except OperationalError as error:
        if not isinstance(error.__cause__, errors.QueryCanceled | errors.LockNotAvailable):
            raise
        transaction.set_rollback(True)  # PostgreSQL takes nothing but that after an error
        return Busy()
    _set_statement_timeout(timeout_before)
    if inserted:
        return Fresh()
    # A new statement sees what has been committed meanwhile. Nothing there: the row expired
    # between the two statements, and the next try will be the first post.
    return earlier_post(user_id, key, fingerprints) or Busy()


def seats(user_id: UUID, key: str) -> list[int]:
    """Return the numbers of the advisory locks that are the seats at one key (signed, 64 bits)."""
    return [
        int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
        for name in (
            json.dumps(["idempotency", str(user_id), key, place]) for place in range(SEATS)
        )
    ]


def _prepare(user_id: UUID, key: str) -> tuple[str, bool]:
    """
    Bound what a lost process can hold up, and take a seat if one is free.

    Returns the statement_timeout in force and whether there was a seat. CASE is the expression
    that PostgreSQL promises to evaluate in order, so no more than one seat is taken.
    """
    numbers = seats(user_id, key)
    takes = " ".join("WHEN pg_try_advisory_xact_lock(%s) THEN true" for _ in numbers)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('transaction_isolation'), current_setting('statement_timeout'),"
            " set_config('client_connection_check_interval', %s, true),"
            " set_config('idle_in_transaction_session_timeout', %s, true),"
            f" CASE {takes} ELSE false END",
            [GONE_CHECK, LONGEST_SILENCE, *numbers],
        )
        isolation, statement_timeout, _, _, seated = cursor.fetchone()
    if isolation != "read committed":
        raise WrongIsolationError(
            f"The transaction of a posted form runs at {isolation.upper()}. {REASON} {ADVICE}"
        )
    return statement_timeout, seated


def _set_statement_timeout(value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [value])


def _insert(user_id: UUID, key: str, fingerprint: bytes) -> bool:
    """
    Insert the row of the claim, waiting for other posts; say whether it was inserted.

    Raw SQL: get_or_create reads first and meets an error where this waits, and
    bulk_create(ignore_conflicts=True) does not say whether it inserted anything.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO idempotency (user_id, idempotency_key, request_fingerprint)"
            " VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            [user_id, key, fingerprint],
        )
        return bool(cursor.rowcount == 1)

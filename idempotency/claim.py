"""Claim a key: decide whether a post is the first, and let later posts wait."""

import hashlib
import json
import math
from collections.abc import Sequence

from django.db import OperationalError, connection
from psycopg import errors

from idempotency.isolation import ADVICE, REASON, WrongIsolationError
from idempotency.key import UserId
from idempotency.saved_response import SavedResponse, find_earlier

MAX_WAITING = 3  # each waiting post keeps one database connection
# One slot for the post whose work is running, and one for each waiting post. A waiting post keeps
# its slot when its own work begins.
SLOTS = 1 + MAX_WAITING

GONE_CHECK = "500ms"  # how often the server checks that a client is still connected
# A process that holds a claim is disconnected after this time without a statement.
LONGEST_SILENCE = "5s"


class InProgressError(Exception):
    """Another post with this key is still running. The author should try again soon."""


def claim(
    user_id: UserId, key: str, fingerprints: Sequence[bytes], *, wait_s: float
) -> SavedResponse | None:
    """Claim a key, or wait for an earlier post and return its response.

    Wait at most `wait_s` seconds. Call this in the transaction in which the work is done and its
    response is saved. The first of `fingerprints` is stored. If the result is None, the key was
    claimed, and the caller does the work and commits. Raises InProgressError and
    DifferentContentError. Raises WrongIsolationError if the isolation level is not READ COMMITTED.
    """
    timeout_before, has_slot = _prepare(user_id, key)
    if not has_slot:
        # No slot is free. If the first post has just ended, its response is there, and nobody needs
        # to wait.
        return _require_earlier(user_id, key, fingerprints)
    # This timeout limits the whole statement. If several earlier posts fail one after the other,
    # the INSERT waits for each post, and lock_timeout would start again at each wait. The least
    # value is 1 ms, because 0 would turn the timeout off.
    _set_statement_timeout(f"{max(1, math.ceil(wait_s * 1000))}ms")
    try:
        inserted = _insert(user_id, key, fingerprints[0])
    except OperationalError as error:
        if not isinstance(error.__cause__, errors.QueryCanceled | errors.LockNotAvailable):
            raise
        raise InProgressError from None
    _set_statement_timeout(timeout_before)
    if inserted:
        return None
    # A new statement sees rows that were committed meanwhile. If no row is found, the saved
    # response has expired.
    return _require_earlier(user_id, key, fingerprints)


def allow_silence(longest: str) -> None:
    """Allow longer pauses between this transaction's statements, for large files.

    `longest` is a length of time as PostgreSQL writes it, such as “120s”.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [longest]
        )


def _require_earlier(user_id: UserId, key: str, fingerprints: Sequence[bytes]) -> SavedResponse:
    earlier = find_earlier(user_id, key, fingerprints)
    if isinstance(earlier, SavedResponse):
        return earlier
    raise earlier or InProgressError


def slot_locks(user_id: UserId, key: str) -> list[int]:
    """Return the slots of one key, each as the number of an advisory lock (64 bits)."""
    names = (json.dumps(["idempotency", str(user_id), key, slot]) for slot in range(SLOTS))
    return [
        int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
        for name in names
    ]


def _prepare(user_id: UserId, key: str) -> tuple[str, bool]:
    """Limit how long a lost process can block others, and try to take a slot.

    Return the statement_timeout, and whether a slot was free. PostgreSQL evaluates the branches of
    a CASE in order, so at most one slot is taken. The settings and the slot are released at the end
    of the transaction.
    """
    locks = slot_locks(user_id, key)
    take_one = " ".join("WHEN pg_try_advisory_xact_lock(%s) THEN true" for _ in locks)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('transaction_isolation'), current_setting('statement_timeout'),"
            " set_config('client_connection_check_interval', %s, true),"
            " set_config('idle_in_transaction_session_timeout', %s, true),"
            f" CASE {take_one} ELSE false END",
            [GONE_CHECK, LONGEST_SILENCE, *locks],
        )
        isolation, statement_timeout, _, _, has_slot = cursor.fetchone()
    if isolation != "read committed":
        raise WrongIsolationError(
            f"The transaction of a posted form has the level {isolation.upper()}. {REASON} {ADVICE}"
        )
    return statement_timeout, has_slot


def _set_statement_timeout(value: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [value])


def _insert(user_id: UserId, key: str, fingerprint: bytes) -> bool:
    """Insert the claim and return whether it is new.

    This is raw SQL, because the INSERT must wait for other posts with this key.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO idempotency (user_id, idempotency_key, request_fingerprint)"
            " VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            [user_id, key, fingerprint],
        )
        return bool(cursor.rowcount == 1)

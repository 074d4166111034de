"""
The only reader and writer of saved answers.

Raw SQL, because of the column `response_headers` (see header_pairs.py) and because a replay is
meant to cost one look-up by the primary key and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from uuid import UUID

from django.db import connection

from idempotency.captured_messages import ShownMessage
from idempotency.header_pairs import FROM_TWO_ARRAYS, NAMES, VALUES
from idempotency.saved_response import Answer

# Joined from constants of this app; what a user gave goes in as parameters.
READ = (
    "SELECT request_fingerprint, response_status_code, response_body, messages,"  # noqa: S608
    f" {NAMES}, {VALUES}"
    " FROM idempotency WHERE user_id = %s AND idempotency_key = %s"
)
SAVE = (
    "UPDATE idempotency SET response_status_code = %s, response_body = %s, messages = %s,"  # noqa: S608
    f" response_headers = {FROM_TWO_ARRAYS}"
    " WHERE user_id = %s AND idempotency_key = %s AND response_status_code IS NULL"
)


@dataclass(frozen=True)
class SavedAnswer:
    """An answer as it stands in the table, with the fingerprint of the form it was given to."""

    fingerprint: bytes
    answer: Answer


class BrokenClaimError(RuntimeError):
    """The row of a claim is not as the claim left it."""


def saved_answer(user_id: UUID, key: str) -> SavedAnswer | None:
    """Return what was answered to this user's form with this key, or None if nothing is known."""
    with connection.cursor() as cursor:
        cursor.execute(READ, [user_id, key])
        row = cursor.fetchone()
    if row is None:
        return None
    fingerprint, status, body, messages, names, values = row
    if status is None:
        # Claim and answer are committed together, so this row was made by other hands.
        raise BrokenClaimError(
            f"The idempotency row of user {user_id} with key {key!r} has no answer, although it is"
            " committed. Delete the row, and the form can be posted again."
        )
    return SavedAnswer(
        bytes(fingerprint),
        Answer(
            status=status,
            headers=tuple((name, bytes(value)) for name, value in zip(names, values, strict=True)),
            body=bytes(body),
            messages=tuple(ShownMessage(**message) for message in json.loads(messages)),
        ),
    )


def save_answer(user_id: UUID, key: str, answer: Answer) -> None:
    """
    Save the answer in the row that the open transaction has claimed.

    Raises BrokenClaimError if that row is not there or holds an answer already.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            SAVE,
            [
                answer.status,
                answer.body,
                json.dumps([asdict(message) for message in answer.messages]),
                [name for name, _ in answer.headers],
                [value for _, value in answer.headers],
                user_id,
                key,
            ],
        )
        if cursor.rowcount != 1:
            raise BrokenClaimError(
                f"The claim of user {user_id} on key {key!r} is gone or answered already."
                " The work must leave the table idempotency alone."
            )

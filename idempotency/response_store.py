"""
Read and write saved responses.

Raw SQL, because of the column of type `header_pair[]` and because a replay costs one look-up by the
primary key. The headers are written from two arrays and read as two, because the driver would have
to learn the type on every connection.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from uuid import UUID

from django.db import connection

from idempotency.captured_messages import CapturedMessage
from idempotency.saved_response import SavedResponse

# unnest keeps the order of an array, so headers come back in the order in which the view set them.
READ = """
    SELECT request_fingerprint, response_status_code, response_body, messages,
           ARRAY(SELECT name FROM unnest(response_headers)),
           ARRAY(SELECT value FROM unnest(response_headers))
    FROM idempotency WHERE user_id = %s AND idempotency_key = %s
"""
SAVE = """
    UPDATE idempotency
    SET response_status_code = %s, response_body = %s, messages = %s, response_headers =
        ARRAY(SELECT ROW(name, value)::header_pair
              FROM unnest(%s::text[], %s::bytea[]) AS pair(name, value))
    WHERE user_id = %s AND idempotency_key = %s AND response_status_code IS NULL
"""


class BrokenClaimError(RuntimeError):
    """The row of a claim is not as the claim left it."""


def load_response(user_id: UUID, key: str) -> tuple[bytes, SavedResponse] | None:
    """Return the fingerprint and the response of the post with this key, if there is one."""
    with connection.cursor() as cursor:
        cursor.execute(READ, [user_id, key])
        row = cursor.fetchone()
    if row is None:
        return None
    fingerprint, status, body, messages, names, values = row
    if status is None:
        # Claim and response are committed together, so other code made this row.
        raise BrokenClaimError(
            f"The idempotency row of user {user_id} with key {key!r} has no answer, although it is"
            " committed. Delete the row, and the form can be posted again."
        )
    return bytes(fingerprint), SavedResponse(
        status=status,
        headers=tuple((name, bytes(value)) for name, value in zip(names, values, strict=True)),
        body=bytes(body),
        messages=tuple(CapturedMessage(**message) for message in json.loads(messages)),
    )


def save_response(user_id: UUID, key: str, response: SavedResponse) -> None:
    """
    Save the response in the row that the open transaction has claimed.

    Raises BrokenClaimError if that row is gone or holds a response already.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            SAVE,
            [
                response.status,
                response.body,
                json.dumps([asdict(message) for message in response.messages]),
                [name for name, _ in response.headers],
                [value for _, value in response.headers],
                user_id,
                key,
            ],
        )
        if cursor.rowcount != 1:
            raise BrokenClaimError(
                f"The claim of user {user_id} on key {key!r} is gone or answered already."
                " The work must leave the table idempotency alone."
            )

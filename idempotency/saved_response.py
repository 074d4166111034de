"""Responses as they are saved, in raw SQL: a replay costs one look-up by the primary key."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.contrib.messages.storage.base import Message
from django.contrib.messages.storage.cookie import MessageDecoder, MessageEncoder
from django.db import connection
from django.http import HttpRequest, HttpResponse

# Of Django's CSRF tokens. A shorter text may be in a response by chance.
SHORTEST_TOKEN = 32

# Two arrays, in order: the driver would have to learn header_pair[] on every connection.
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


class CannotBeReplayedError(TypeError):
    """A view's response must not, or cannot, be sent a second time."""


class BrokenClaimError(RuntimeError):
    """The row of a claim is not as the claim left it."""


@dataclass(frozen=True)
class SavedResponse:
    """What a view answered. Header values are bytes as on the wire."""

    status: int
    headers: tuple[tuple[str, bytes], ...]
    body: bytes
    messages: tuple[Message, ...]

    @property
    def url(self) -> str:
        """The URL of the work's result, from Location or Content-Location; else empty."""
        named = {name.lower(): value for name, value in self.headers}
        return named.get("location", named.get("content-location", b"")).decode("latin-1")


class DifferentContentError(Exception):
    """The key was used for other content. `earlier_url` shows its result, if that is known."""

    def __init__(self, earlier_url: str = "") -> None:
        super().__init__(earlier_url)
        self.earlier_url = earlier_url


def to_saved_response(
    request: HttpRequest, response: HttpResponse, messages: tuple[Message, ...]
) -> SavedResponse:
    """Convert a response, without cookies. CannotBeReplayedError if it has the CSRF token."""
    csrf_header = settings.CSRF_HEADER_NAME.removeprefix("HTTP_").replace("_", "-").lower()
    headers = tuple(
        (name, value.encode("latin-1"))
        for name, value in response.items()
        if name.lower() not in ("set-cookie", csrf_header)
    )
    body = bytes(response.content)
    token = request.POST.get("csrfmiddlewaretoken", "").encode()
    parts = (body, *(value for _, value in headers))
    if len(token) >= SHORTEST_TOKEN and any(token in part for part in parts):
        raise CannotBeReplayedError(
            "The view answered with the CSRF token of the form. Answer without it."
        )
    return SavedResponse(response.status_code, headers, body, messages)


def to_http_response(saved: SavedResponse) -> HttpResponse:
    """Build the same response again: status, headers and bytes."""
    response = HttpResponse(saved.body, status=saved.status)
    # Django sets a content type of its own, which the view may have removed.
    del response.headers["Content-Type"]
    for name, value in saved.headers:
        response.headers[name] = value.decode("latin-1")
    return response


def find_earlier(
    user_id: UUID, key: str, fingerprints: Sequence[bytes]
) -> SavedResponse | DifferentContentError | None:
    """Return the response to an earlier post with this key, if its content was the same, or the
    error to raise; None if there was no such post."""
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
    headers = tuple((name, bytes(value)) for name, value in zip(names, values, strict=True))
    shown = tuple(json.loads(messages, cls=MessageDecoder))
    response = SavedResponse(status, headers, bytes(body), shown)
    return response if bytes(fingerprint) in fingerprints else DifferentContentError(response.url)


def save_response(user_id: UUID, key: str, response: SavedResponse) -> None:
    """Save the response in the claimed row. Raises BrokenClaimError if that is gone or answered."""
    names, values = [name for name, _ in response.headers], [value for _, value in response.headers]
    messages = json.dumps(response.messages, cls=MessageEncoder)
    with connection.cursor() as cursor:
        cursor.execute(
            SAVE, [response.status, response.body, messages, names, values, user_id, key]
        )
        if cursor.rowcount != 1:
            raise BrokenClaimError(
                f"The claim of user {user_id} on key {key!r} is gone or answered already."
                " The work must leave the table idempotency alone."
            )

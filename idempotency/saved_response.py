"""Saved responses, in raw SQL. A replay reads one row by its primary key."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.contrib.messages.storage.base import Message
from django.contrib.messages.storage.cookie import MessageDecoder, MessageEncoder
from django.db import connection
from django.http import HttpRequest, HttpResponse

from idempotency.key import UserId

# The length of Django's CSRF tokens. A shorter token might occur in a response by chance.
SHORTEST_TOKEN = 32

# Read the headers as two arrays. To read the type header_pair[], the driver would have to look it
# up on every connection.
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
    """A view's response cannot or must not be sent a second time."""


class BrokenClaimError(RuntimeError):
    """Other code wrote, changed or deleted the row of a claim."""


@dataclass(frozen=True)
class SavedResponse:
    """The response of a view. Header values are bytes, as they are sent."""

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
    """The key was used for other content.

    `earlier_url` is the URL of the earlier result, if this URL is known.
    """

    def __init__(self, earlier_url: str = "") -> None:
        super().__init__(earlier_url)
        self.earlier_url = earlier_url


def to_saved_response(
    request: HttpRequest, response: HttpResponse, messages: tuple[Message, ...]
) -> SavedResponse:
    """Convert a view's response to a SavedResponse without its cookies.

    Raise CannotBeReplayedError if the response contains a CSRF token.
    """
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
            "The response of the view contains the form's CSRF token. Return it without the token."
        )
    return SavedResponse(response.status_code, headers, body, messages)


def to_http_response(saved: SavedResponse) -> HttpResponse:
    """Build the same response again, with its status, headers and body."""
    response = HttpResponse(saved.body, status=saved.status)
    # HttpResponse sets a default content type. Delete this header, because the view may have
    # removed it from its own response.
    del response.headers["Content-Type"]
    for name, value in saved.headers:
        response.headers[name] = value.decode("latin-1")
    return response


def find_earlier(
    user_id: UserId, key: str, fingerprints: Sequence[bytes]
) -> SavedResponse | DifferentContentError | None:
    """Return the response to an earlier post with this key, or None if there was none.

    If the content was different, return the error to raise.
    """
    with connection.cursor() as cursor:
        cursor.execute(READ, [user_id, key])
        row = cursor.fetchone()
    if row is None:
        return None
    fingerprint, status, body, messages, names, values = row
    if status is None:
        # The claim and its response are always committed together, so a row without a response was
        # written by other code.
        raise BrokenClaimError(
            f"The idempotency row of user {user_id} with key {key!r} was committed without a"
            " response. Delete the row. Then the form can be posted again."
        )
    headers = tuple((name, bytes(value)) for name, value in zip(names, values, strict=True))
    shown = tuple(json.loads(messages, cls=MessageDecoder))
    response = SavedResponse(status, headers, bytes(body), shown)
    return response if bytes(fingerprint) in fingerprints else DifferentContentError(response.url)


def save_response(user_id: UserId, key: str, response: SavedResponse) -> None:
    """Save the response in the claimed row.

    Raise BrokenClaimError if the row is missing or already has a response.
    """
    names, values = [name for name, _ in response.headers], [value for _, value in response.headers]
    messages = json.dumps(response.messages, cls=MessageEncoder)
    with connection.cursor() as cursor:
        cursor.execute(
            SAVE, [response.status, response.body, messages, names, values, user_id, key]
        )
        if cursor.rowcount != 1:
            raise BrokenClaimError(
                f"The claim of user {user_id} on key {key!r} was removed or already answered."
                " The work must not change the table idempotency."
            )

"""
An answer as it is remembered: status, headers, body and the messages shown with it.

Nothing here touches the database. An answer that could not be given again byte for byte, or
that holds what belongs to one browser only, is refused loudly: it is a bug in the view.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from idempotency.captured_messages import ShownMessage

# Django's tokens have 32 characters, or 64 when masked. Anything shorter is no token, and might
# stand in an answer by chance.
SHORTEST_TOKEN = 32


@dataclass(frozen=True)
class Answer:
    """What a view answered. Header values are the bytes that stood on the wire."""

    status: int
    headers: tuple[tuple[str, bytes], ...]
    body: bytes
    messages: tuple[ShownMessage, ...]

    @property
    def leads_to(self) -> str:
        """The address of what came of the work, where the answer named one; empty otherwise."""
        named = {name.lower(): value for name, value in self.headers}
        return named.get("location", named.get("content-location", b"")).decode("latin-1")


class CannotBeReplayedError(TypeError):
    """A view answered with something that must not, or cannot, be given a second time."""


def is_worth_remembering(response: HttpResponse) -> bool:
    """Say whether the work succeeded. After any other answer it is rolled back and forgotten."""
    return 200 <= response.status_code < 400


def answer_of(
    request: HttpRequest, response: HttpResponse, messages: tuple[ShownMessage, ...]
) -> Answer:
    """
    Take down what a view answered, without cookies and without the CSRF header.

    Cookies belong to the browser that got them: the session's may have changed since, and a
    replay may go to another browser of the same user. Raises CannotBeReplayedError if the token
    that was posted with the form stands in the body or in a header.
    """
    never_saved = {"set-cookie", _name_of(settings.CSRF_HEADER_NAME)}
    answer = Answer(
        status=response.status_code,
        headers=tuple(
            (name, value.encode("latin-1"))
            for name, value in response.items()
            if name.lower() not in never_saved
        ),
        body=bytes(response.content),
        messages=messages,
    )
    token = request.POST.get("csrfmiddlewaretoken", "").encode()
    parts = (answer.body, *(value for _, value in answer.headers))
    if len(token) >= SHORTEST_TOKEN and any(token in part for part in parts):
        raise CannotBeReplayedError(
            "The view answered with the CSRF token of the form. Answer without it."
        )
    return answer


def response_from(answer: Answer) -> HttpResponse:
    """Give an answer again: the same status, the same headers, the same bytes."""
    response = HttpResponse(answer.body, status=answer.status)
    # Django sets a content type of its own, which the view may have removed.
    del response.headers["Content-Type"]
    for name, value in answer.headers:
        response.headers[name] = value.decode("latin-1")
    return response


def _name_of(wsgi_name: str) -> str:
    """Turn Django's name for a header (HTTP_X_CSRFTOKEN) into the one on the wire."""
    return wsgi_name.removeprefix("HTTP_").replace("_", "-").lower()

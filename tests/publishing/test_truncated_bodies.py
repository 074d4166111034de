"""Truncated and chunked bodies are not mistaken for shorter ones."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from delivery.models import Edition
from subscribers.links.unsubscribe_token import token_for
from subscribers.models import Subscriber
from tests.deployment.served_site import ServedSite, served_site
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import FORM, WindowOf

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

AS_A_QUERY = "application/x-www-form-urlencoded"
KINDS = [AS_A_QUERY, MULTIPART_CONTENT]
SWIFTS = {"title": "Swifts", "text": "They have gone."}


def encoded(fields: dict[str, str], kind: str) -> bytes:
    return urlencode(fields).encode() if kind == AS_A_QUERY else encode_multipart(BOUNDARY, fields)


def posted(
    site: ServedSite, window: WindowOf, path: str, body: bytes, kind: str, length: int
) -> str:
    """Return the answer to a form of `length` bytes of which only `body` arrives."""
    cookies = window.client.cookies
    return site.post_and_hang_up(
        path,
        body,
        **{
            "Cookie": "; ".join(f"{name}={one.value}" for name, one in cookies.items()),
            "Origin": "https://letter.example.org",
            # As the script of the desk does. The fields may be unreadable.
            "X-CSRFToken": cookies["csrftoken"].value,
            "Content-Type": kind,
            "Content-Length": str(length),
        },
    )


def editions() -> int:
    return Edition.objects.filter(kind=Edition.Kind.NEWSLETTER).count()


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_letter_is_never_published(
    database_url: str, window: WindowOf, three_readers: list[Subscriber], kind: str
) -> None:
    whole = encoded(window.open_form(), kind)
    half = whole[: whole.index(b"have+gone" if kind == AS_A_QUERY else b"have gone")]
    with served_site(database_url) as site:
        answer = posted(site, window, FORM, half, kind, len(whole))
        assert answer.startswith("HTTP/1.1 400")
        # An empty form would also be refused, because it has no key.
        assert "was cut off" in answer
        assert editions() == 0

        assert posted(site, window, FORM, whole, kind, len(whole)).startswith("HTTP/1.1 303")
    assert editions() == 1


def test_truncated_call_is_refused_and_can_be_retried(
    database_url: str, author: Any, three_readers: list[Subscriber]
) -> None:
    token = Program(author).token
    # The part that arrived is readable. Only the stated length shows that it is incomplete.
    came = json.dumps(SWIFTS).encode()

    def call(length: int) -> str:
        return site.post_and_hang_up(
            "/api/v1/issues/",
            came,
            **{
                "Authorization": f"Bearer {token}",
                "Idempotency-Key": "swifts",
                "Content-Type": "application/json",
                "Content-Length": str(length),
            },
        )

    with served_site(database_url) as site:
        answer = call(len(came) + 100)
        assert answer.startswith("HTTP/1.1 400")
        assert editions() == 0

        assert call(len(came)).startswith("HTTP/1.1 201")
    assert editions() == 1


def test_foreign_form_is_refused_but_one_click_unsubscribe_works(
    database_url: str, three_readers: list[Subscriber]
) -> None:
    link = f"/unsubscribe/{token_for(three_readers[0].pk)}/"
    announced = {"Content-Type": AS_A_QUERY, "Content-Length": "100"}
    with served_site(database_url) as site:
        answer = site.post_and_hang_up("/subscriptions/embedded/", b"email=a", **announced)
        assert answer.startswith("HTTP/1.1 400")
        answer = site.post_and_hang_up(link, b"List-Unsub", **announced)
    assert answer.startswith("HTTP/1.1 200")
    assert Subscriber.objects.filter(unsubscribed_at__isnull=False).count() == 1


def test_chunked_body_of_a_call_without_body_is_refused(
    database_url: str, author: Any, three_readers: list[Subscriber]
) -> None:
    """Django treats a request without a length as one without a body."""
    program = Program(author)
    made = program.post("/issues/", {**SWIFTS, "hold_s": 3600}).json()

    def refused(path: str, body: Any) -> dict[str, Any]:
        answer = site.post_in_pieces(
            f"/api/v1{path}",
            json.dumps(body).encode(),
            **{
                "Authorization": f"Bearer {program.token}",
                "Idempotency-Key": "swifts",
                "Content-Type": "application/json",
            },
        )
        assert answer.request.headers["Transfer-Encoding"] == "chunked"
        assert answer.status_code == 400
        return answer.json()

    with served_site(database_url) as site:
        pause = f"/issues/{made['issue']}/pause/?version=1"
        problem = refused(pause, {"version": 2})
        takes_one = refused("/issues/", SWIFTS)
    assert problem["type"] == "urn:homing:problem:not-readable"
    assert "Content-Length" in problem["detail"]
    assert "chunked" in takes_one["detail"]
    assert Edition.objects.get().control == Edition.Control.RUNNING

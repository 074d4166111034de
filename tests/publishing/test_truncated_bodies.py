"""Truncated and chunked request bodies are refused, not read as shorter bodies."""

import json
from typing import Any

import pytest

from delivery.models import Edition
from subscribers.models import Subscriber, SubscriberImport
from tests.deployment.served_site import served_site
from tests.newsletter_site.api_caller import Program

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

SWIFTS = {"title": "Swifts", "text": "They have gone."}


def headers(program: Program, **more: str) -> dict[str, str]:
    authorization = f"Bearer {program.token}"
    return {"Authorization": authorization, "Idempotency-Key": "swifts", **more}


def test_truncated_bodies_never_reach_the_site(
    database_url: str, author: Any, three_readers: list[Subscriber]
) -> None:
    # The part that arrived is valid JSON. Only the stated length shows that the body is incomplete.
    came = json.dumps(SWIFTS).encode()
    as_json = headers(Program(author), **{"Content-Type": "application/json"})
    with served_site(database_url) as site:

        def call(length: int) -> str:
            given = as_json | {"Content-Length": str(length)}
            return site.post_and_hang_up("/api/v1/issues/", came, **given)

        answer = call(len(came) + 100)
        assert answer.startswith("HTTP/1.1 400")
        assert "urn:homing:problem:not-readable" in answer
        assert not Edition.objects.exists()

        assert call(len(came)).startswith("HTTP/1.1 201")
    assert Edition.objects.count() == 1


def test_chunked_body_of_a_call_is_refused(
    database_url: str, author: Any, three_readers: list[Subscriber]
) -> None:
    """Django treats a request without a length as a request without a body."""
    program = Program(author)
    made = program.post("/issues/", {**SWIFTS, "hold_s": 3600}).json()

    def refused(path: str, body: bytes, kind: str = "application/json") -> dict[str, Any]:
        given = headers(program, **{"Content-Type": kind})
        answer = site.post_in_pieces(f"/api/v1{path}", body, **given)
        assert answer.request.headers["Transfer-Encoding"] == "chunked"
        assert answer.status_code == 400
        return answer.json()

    with served_site(database_url) as site:
        takes_none = refused(f"/issues/{made['issue']}/pause/?version=1", b'{"version": 2}')
        takes_one = refused("/issues/", json.dumps(SWIFTS).encode())
        file = refused("/imports/?filename=list.csv", b"email\nada@example.net\n", "text/csv")
    assert takes_none["type"] == "urn:homing:problem:not-readable"
    assert "Content-Length" in takes_none["detail"]
    assert "chunked" in takes_one["detail"]
    assert "is chunked and has no length" in file["detail"]
    assert not SubscriberImport.objects.exists()
    assert Edition.objects.get().control == Edition.Control.RUNNING

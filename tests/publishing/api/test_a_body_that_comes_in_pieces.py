"""A body in pieces, of untold length, is refused: Django takes such a call for one without."""

from __future__ import annotations

import json
from typing import Any

import pytest

from delivery.models import Edition
from subscribers.models import Subscriber
from tests.deployment.served_site import ServedSite, served_site
from tests.newsletter_site.calling import Program

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

LETTER = {"title": "Swifts", "text": "They have gone."}


def refused(site: ServedSite, program: Program, path: str, body: Any) -> dict[str, Any]:
    """The problem that is answered to a call whose body comes so."""
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
    problem: dict[str, Any] = answer.json()
    return problem


def test_a_call_that_takes_no_body_is_not_done_where_one_comes_in_pieces(
    database_url: str, author: Any, three_readers: list[Subscriber]
) -> None:
    program = Program(author)
    made = program.post("/issues/", {**LETTER, "hold_s": 3600}).json()
    with served_site(database_url) as site:
        pause = f"/issues/{made['issue']}/pause/?version=1"
        problem = refused(site, program, pause, {"version": 2})
        takes_one = refused(site, program, "/issues/", LETTER)
    assert problem["type"] == "urn:homing:problem:not-readable"
    assert "Content-Length" in problem["detail"]
    assert "chunked" in takes_one["detail"]
    assert Edition.objects.get().control == Edition.Control.RUNNING

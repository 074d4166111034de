"""Whoever asks by a name that is not among ALLOWED_HOSTS is told so, and the log says so once."""

from __future__ import annotations

import json

from django.core.exceptions import BadRequest
from django.test import Client, RequestFactory

from api.problem import MEDIA_TYPE
from newsletter_site.unknown_host import bad_request
from tests.log_lines import log_lines

STRANGE = "letters.elsewhere.example"


def test_a_page_says_that_the_site_has_another_name(client: Client) -> None:
    for address in ("/", "/archive/", "/nowhere/"):
        for secure in (True, False):
            answer = client.get(address, secure=secure, headers={"host": STRANGE})
            page = answer.content.decode()
            assert answer.status_code == 400
            assert "<h1>This site has another name</h1>" in page
            assert "ALLOWED_HOSTS" in page
            assert STRANGE not in page


def test_a_call_is_told_that_the_site_has_another_name(client: Client) -> None:
    for address in ("/api/v1/issues/", "/api/v1/openapi.json"):
        answer = client.get(address, secure=True, headers={"host": STRANGE})
        told = json.loads(answer.content)
        assert (answer.status_code, answer.headers["Content-Type"]) == (400, MEDIA_TYPE)
        assert told["type"] == "urn:homing:problem:unknown-host"
        assert "ALLOWED_HOSTS" in told["detail"]
        assert STRANGE not in answer.content.decode()


def test_the_log_has_one_warning_of_it_beside_the_line_of_the_request(client: Client) -> None:
    with log_lines() as lines:
        client.get("/archive/", secure=True, headers={"host": STRANGE})
    told = [line for line in lines() if line["logger"] != "newsletter_site.logs.requests"]
    assert [(line["level"], line["event"]) for line in told] == [
        ("warning", "a request was for a name that is not among ALLOWED_HOSTS")
    ]
    assert STRANGE not in json.dumps(lines())


def test_whatever_else_cannot_be_read_has_the_page_it_had(rf: RequestFactory) -> None:
    answer = bad_request(rf.get("/archive/"), BadRequest("no matter"))
    assert answer.status_code == 400
    assert "<h1>This could not be read</h1>" in answer.content.decode()

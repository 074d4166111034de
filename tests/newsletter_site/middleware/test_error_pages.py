"""What is answered when something is wrong, or when the site is asked for by another name."""

import json
import re
from uuid import UUID

import pytest
from django.conf import LazySettings
from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.views import defaults

from api.problem import MEDIA_TYPE
from newsletter_site.middleware.error_pages import bad_request
from tests.capture_log import log_lines


def words(answer: HttpResponse) -> str:
    return " ".join(
        re.sub(r"<defs>.*?</defs>|<[^>]+>", " ", answer.content.decode(), flags=re.S).split()
    )


@pytest.mark.django_db
def test_every_error_has_a_page_in_the_look(rf: RequestFactory) -> None:
    for view, status, heading in (
        (defaults.bad_request, 400, "This could not be read"),
        (defaults.permission_denied, 403, "This page is not open to you"),
        (defaults.page_not_found, 404, "There is nothing here"),
    ):
        answer = view(rf.get("/nowhere"), Exception("for nobody to read: 42"))
        assert answer.status_code == status
        assert f"<h1>{heading}</h1>" in answer.content.decode()
        assert "homing.css" in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("/nowhere/", "No page has this address."),
        ("/admin/nowhere/", "No page has this address."),
        (f"/admin/newsletters/{UUID(int=7)}/", "There is no issue"),
    ],
)
def test_an_unknown_address_has_our_page_in_debug(
    settings: LazySettings, admin_client: Client, address: str, says: str
) -> None:
    settings.DEBUG = True
    answer = admin_client.get(address, secure=True)
    assert answer.status_code == 404
    assert says in words(answer)
    assert "urlpatterns" not in words(answer)
    # An address without its last slash still leads on.
    assert admin_client.get("/archive", secure=True)["Location"] == "/archive/"


def test_the_500_page_needs_no_database(
    rf: RequestFactory,
) -> None:
    answer = defaults.server_error(rf.get("/nowhere"))
    assert answer.status_code == 500
    assert "homing.css" in answer.content.decode()
    assert "it is published once, however often you press" in words(answer)


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


def test_an_unknown_host_is_one_warning_in_the_log(client: Client) -> None:
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

"""The pages and API answers for errors and for unknown host names."""

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
def test_every_error_page_has_our_style(rf: RequestFactory) -> None:
    for view, status, heading in (
        (defaults.bad_request, 400, "This request could not be read"),
        (defaults.permission_denied, 403, "You don’t have access to this page"),
        (defaults.page_not_found, 404, "Page not found"),
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
    # An address without its last slash still redirects.
    assert admin_client.get("/archive", secure=True)["Location"] == "/archive/"


def test_the_500_page_needs_no_database(rf: RequestFactory) -> None:
    answer = defaults.server_error(rf.get("/nowhere"))
    assert answer.status_code == 500
    assert "homing.css" in answer.content.decode()
    assert "The issue is published only once." in words(answer)


STRANGE = "letters.elsewhere.example"


def test_an_unknown_host_gets_a_page_and_one_warning(client: Client) -> None:
    headers = {"host": STRANGE, "Accept-Language": "xx,ar;q=0.5"}
    with log_lines() as lines:
        answer = client.get("/archive/", headers=headers)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert '<html lang="ar" dir="rtl">' in page
    assert "ALLOWED_HOSTS" in page
    assert STRANGE not in page + json.dumps(lines())
    logged = [line for line in lines() if line["logger"] != "newsletter_site.logs.log_requests"]
    assert [(line["level"], line["event"]) for line in logged] == [
        ("warning", "a request was refused: its host name is not among ALLOWED_HOSTS")
    ]


def test_an_unknown_host_gets_a_problem_from_the_api(client: Client) -> None:
    for address in ("/api/v1/issues/", "/api/v1/openapi.json"):
        answer = client.get(address, secure=True, headers={"host": STRANGE})
        problem = json.loads(answer.content)
        assert (answer.status_code, answer.headers["Content-Type"]) == (400, MEDIA_TYPE)
        assert problem["type"] == "urn:homing:problem:unknown-host"
        assert "ALLOWED_HOSTS" in problem["detail"]
        assert STRANGE not in answer.content.decode()


def test_other_bad_requests_keep_their_page(rf: RequestFactory) -> None:
    answer = bad_request(rf.get("/archive/"), BadRequest("no matter"))
    assert answer.status_code == 400
    assert "<h1>This request could not be read</h1>" in answer.content.decode()

"""All addresses of the site, also new ones, keep the rules of docs/security.md."""

import itertools
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.contrib.auth import get_user_model
from django.test import Client

from delivery.models import Edition
from publishing.models import Draft
from publishing.publish.publish_edition import publish
from tests.newsletter_site.every_url import Address, every_address
from tests.publishing.content_factory import letter

pytestmark = pytest.mark.django_db(transaction=True)

# Addresses that accept forms from other sites, each with the reason.
TAKES_FORMS_FROM_ELSEWHERE = {
    "webhooks/postmark/",
    "webhooks/postmark",
    "webhooks/<slug:path>/",  # has a separate password
    "webhooks/<slug:path>",
    "unsubscribe/<str:token>/",  # one-click, RFC 8058: the token is the permission
    r"^[/]*(?=(?i:unsubscribe)/)[A-Za-z]+/+(?P<token>[\s\S]*)$",
    "preferences/<str:token>/",  # the token is the permission here too
    r"^[/]*(?=(?i:preferences)/)[A-Za-z]+/+(?P<token>[\s\S]*)$",
    "subscriptions/embedded/",  # `Origin` decides: see test_embed_form.py
}
# Probes and metrics read no cookies and change nothing (newsletter_site/operating/).
OPERATING = {"health/live/", "health/ready/", "health/workers/", "metrics"}
API = "api/v1/"
# These pages show a letter as it will arrive, with inline styles, in frames without scripts.
LETTERS = {
    "admin/newsletters/preview/",
    "admin/newsletters/drafts/<uuid:draft>/preview/",
    "admin/newsletters/write/preview/",
    "admin/newsletters/settings/look/preview/",
    "archive/<slug:slug>/",
}


@pytest.fixture
def people() -> dict[str, Client]:
    """Return three clients: signed out, without permissions, with all permissions."""
    users = get_user_model().objects
    clients = {name: Client(raise_request_exception=False) for name in ("nobody", "ines", "ola")}
    clients["ines"].force_login(users.create_user("ines", is_staff=True))
    clients["ola"].force_login(users.create_superuser("ola"))
    return clients


@pytest.fixture
def addresses(people: dict[str, Client]) -> list[Address]:
    """Return every address, with the ids of an existing issue and draft."""
    ola = get_user_model().objects.get(username="ola")
    publish(ola.pk, "a key", letter(), hold_s=0)
    edition = Edition.objects.get()
    draft = Draft.objects.create(title="A draft", created_by=ola, saved_by=ola)
    return every_address(issue=str(edition.issue_id), draft=str(draft.pk))


def test_every_form_needs_its_csrf_token(people: Any) -> None:
    ola = Client(enforce_csrf_checks=True, raise_request_exception=False)
    ola.cookies = people["ola"].cookies
    answers = {
        one.route: ola.post(
            one.path,
            {"title": "x", "email": "a@b.example"},
            secure=True,
            HTTP_REFERER="https://testserver/",
        )
        for one in every_address()
    }
    accepted = {route for route, answer in answers.items() if answer.status_code != 403}
    # Without a CSRF token this page shows its form again, not 403. An invalid link has no form.
    accepted.remove("subscriptions/confirm/")
    assert answers["subscriptions/confirm/"].status_code >= 400
    of_the_api = {route for route in accepted if route.startswith(API)}
    assert accepted - of_the_api - OPERATING == TAKES_FORMS_FROM_ELSEWHERE
    # The API reads no cookie, so a session does not sign anyone in.
    assert {answers[route].status_code for route in of_the_api} <= {401, 404, 405}
    assert {answers[route].status_code for route in OPERATING} <= {404, 405, 401}


def test_every_answer_has_its_policy_headers(people: Any, addresses: Any) -> None:
    for name, client in people.items():
        for one in addresses:
            if one.route in OPERATING:
                continue
            answer = client.get(one.path, secure=True)
            headers = answer.headers
            assert answer.status_code < 500, (name, one)
            if one.route.startswith(API):  # The API has no pages, only JSON and files.
                assert headers["X-Content-Type-Options"] == "nosniff", (name, one)
                continue
            assert "Content-Security-Policy" in headers, (name, one, answer)
            policy = headers["Content-Security-Policy"]
            if one.route in LETTERS and "unsafe" in policy:
                assert (
                    "sandbox" in policy
                    or "script-src 'none'" in policy
                    or ("default-src 'none'" in policy and "script-src" not in policy)
                ), (name, one)
                assert "allow-scripts" not in policy
                assert "unsafe-eval" not in policy
            else:
                assert "unsafe" not in policy, (name, one)
            assert headers["X-Content-Type-Options"] == "nosniff", (name, one)
            assert headers["Referrer-Policy"] in {"same-origin", "no-referrer"}, (name, one)
            assert headers["Cross-Origin-Opener-Policy"] == "same-origin", (name, one)
            assert "camera=()" in headers["Permissions-Policy"], (name, one)
            # The header has no `includeSubDomains`, because the operator decides about other names
            # below this domain.
            assert headers["Strict-Transport-Security"] == "max-age=31536000", (name, one)


def test_every_cookie_is_secure_and_same_site(people: Any) -> None:
    ola = get_user_model().objects.get(username="ola")
    ola.set_password("a long password")
    ola.save()
    window = Client()
    window.get("/admin/login/", secure=True)
    window.post("/admin/login/", {"username": "ola", "password": "a long password"}, secure=True)
    assert {name.partition("_")[0] for name in window.cookies} == {
        "csrftoken", "sessionid", "browser",
    }  # fmt: skip
    for name, cookie in window.cookies.items():
        assert cookie["secure"], name
        assert cookie["samesite"] == "Lax", name
        assert cookie["httponly"] or name == "csrftoken", name
    assert int(window.cookies["sessionid"]["max-age"]) <= 7 * 24 * 3600


LEADING = ("next", "redirect", "redirect_to", "return", "url", "to")
ELSEWHERE = ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x")


def test_no_address_redirects_to_another_site(people: Any, addresses: Any) -> None:
    """Try the targets in rotation, one at each address; at the sign-in page try all."""
    turn = itertools.cycle(ELSEWHERE)
    for name, client in people.items():
        for one in addresses:
            if one.route == "admin/logout/":
                continue
            for elsewhere in ELSEWHERE if "login" in one.route else (next(turn),):
                asked = dict.fromkeys(LEADING, elsewhere)
                for ask in (client.get, client.post):
                    where = urlsplit(ask(one.path, asked, secure=True).headers.get("Location", ""))
                    assert where.hostname in {None, "testserver", "letter.example.org"}, (name, one)
                    assert where.scheme in {"", "https"}, (name, one)
    for elsewhere in ELSEWHERE:
        out = people["ola"].post("/admin/logout/", {"next": elsewhere}, secure=True)
        assert "evil" not in out.headers.get("Location", "")


def test_bodies_that_are_too_large_are_refused_everywhere(
    people: Any, settings: LazySettings
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 50_000
    settings.POSTMARK_WEBHOOK_USER, settings.POSTMARK_WEBHOOK_PASSWORD = "us", "a password"
    large = b"title=" + b"x" * 200_000
    for name, client in people.items():
        for one in every_address():
            answer = client.post(
                one.path, large, content_type="application/x-www-form-urlencoded", secure=True
            )
            assert answer.status_code in {302, 303, *range(400, 500)} or (
                one.route in TAKES_FORMS_FROM_ELSEWHERE
            ), (name, one)
            assert answer.status_code < 500, (name, one)

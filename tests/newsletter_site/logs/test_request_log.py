"""Each request is logged once; its answer and its other lines have the same id."""

import json
import logging
import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client

from delivery import log_context
from publishing.content.edition_content import Content
from publishing.publish.publish_edition import publish
from tests.capture_log import Lines, log_lines
from tests.subscribers.factories import SubscriberFactory

MADE = re.compile(r"[0-9a-f]{32}")


@pytest.fixture
def lines(settings: Any) -> Iterator[Lines]:
    """Collect the log lines as they are written outside debug mode."""
    with log_lines(settings.SECRET_KEY) as lines:
        yield lines


@pytest.fixture
def author(db: None) -> Any:
    return get_user_model().objects.create_superuser("edith", password="a long password")


def browser(**options: Any) -> Client:
    return Client(headers={"host": "letter.example.org"}, **options)


def of_requests(lines: Lines) -> list[dict[str, Any]]:
    return [line for line in lines() if "route" in line]


def test_a_request_has_one_line_with_route_and_status(db: None, lines: Lines) -> None:
    answer = browser().get("/?why=ada@example.org", secure=True)
    (line,) = of_requests(lines)
    assert (line["method"], line["route"], line["status"]) == ("GET", "/", 200)
    assert line["bytes"] == len(answer.content)
    assert line["ms"] > 0
    assert line["request"] == answer["X-Request-ID"]
    assert line["event"] == "GET / was answered 200"
    assert "author" not in line


def test_redirects_and_refusals_have_their_id_and_line_too(db: None, lines: Lines) -> None:
    redirected = browser().get("/")
    refused = browser(REMOTE_ADDR="10.0.0.7").get("/metrics", secure=True)
    assert (redirected.status_code, refused.status_code) == (301, 403)
    assert [(line["request"], line["status"]) for line in of_requests(lines)] == [
        (answer.get("X-Request-ID"), answer.status_code) for answer in (redirected, refused)
    ]


@pytest.mark.parametrize(
    ("address", "route"),
    [
        ("/unsubscribe/an-unknown-permission/", "/unsubscribe/<str:token>/"),
        ("/record/an-unknown-permission/", "/record/<str:token>/"),
        ("/subscriptions/confirm/?subscription_token=permission", "/subscriptions/confirm/"),
        ("/nowhere/permission/", "an unknown page"),
        ("/record/permissi%C3%B3n/", "/record/<str:token>/"),
        ("/nowhere/permissi%C3%B3n/?%C3%A9=permission", "an unknown page"),
    ],
)
def test_paths_are_not_logged(db: None, lines: Lines, address: str, route: str) -> None:
    browser().get(address)  # Most pages redirect this request to https.
    browser().get(address, secure=True)
    browser(enforce_csrf_checks=True).post(
        address, secure=True, headers={"referer": f"https://elsewhere.example{address}"}
    )
    assert {line["route"] for line in of_requests(lines)} == {route}
    assert "permissi" not in json.dumps(lines())


def test_a_csrf_refusal_is_logged_with_reason_and_route(db: None, lines: Lines) -> None:
    answer = browser(enforce_csrf_checks=True).post(
        "/admin/login/", secure=True, headers={"referer": "https://evil.example/some/page/"}
    )
    (refusal,) = [line for line in lines() if line["logger"] == "django.security.csrf"]
    assert refusal["event"].startswith(
        "Forbidden (Referer checking failed - https://evil.example/…"
    )
    assert refusal["event"].endswith(": /admin/login/")
    assert refusal["request"] == answer["X-Request-ID"]


def test_a_streamed_response_is_logged_after_its_last_byte(author: Any, lines: Lines) -> None:
    SubscriberFactory.create_batch(3)
    window = browser()
    window.force_login(author)
    answer = window.get("/admin/newsletters/readers/readers.csv", secure=True)
    assert of_requests(lines) == []
    body = b"".join(answer.streaming_content)
    answer.close()
    (line,) = of_requests(lines)
    assert line["bytes"] == len(body)
    assert line["status"] == 200


def test_the_signed_in_user_is_logged_by_id(author: Any, lines: Lines) -> None:
    window = browser()
    window.post(
        "/admin/login/",
        {"username": "edith", "password": "a long password", "next": "/admin/"},
        secure=True,
    )
    window.get("/admin/newsletters/issues/", secure=True)
    signed_in, at_the_desk = of_requests(lines)
    assert signed_in["author"] == at_the_desk["author"] == str(author.pk)
    assert "edith" not in json.dumps(lines())


def test_only_the_lines_of_an_issues_page_name_the_issue(author: Any, lines: Lines) -> None:
    issue = uuid.uuid4()
    window = browser()
    window.force_login(author)
    window.get(f"/admin/newsletters/{issue}/", secure=True)
    # The web server refuses the next request before Django sees it, in a thread that answered an
    # earlier request.
    logging.getLogger("a web server").warning("this is no request by HTTP's rules")
    browser().get("/", secure=True)
    answered, refused, following = lines()[-3:]
    assert answered["issue"] == str(issue)
    assert refused["event"] == "this is no request by HTTP's rules"
    assert not set(refused) & set(log_context.IDS)
    assert not {"issue", "author"} & set(following)


def test_successful_files_and_health_checks_are_not_logged(db: None, lines: Lines) -> None:
    browser().get("/static/homing.css", secure=True).close()
    browser().get("/health/live/")
    assert of_requests(lines) == []
    browser().get("/static/nothing.css", secure=True)
    assert [line["status"] for line in of_requests(lines)] == [404]


def test_only_a_valid_id_of_a_trusted_proxy_is_kept(db: None, settings: Any, lines: Lines) -> None:
    def made_from(given: str) -> str:
        answer = browser().get("/", secure=True, headers={"x-request-id": given})
        assert answer["X-Request-ID"] == of_requests(lines)[-1]["request"]
        return str(answer["X-Request-ID"])

    one, two = made_from("req-0815"), made_from("req-0815")
    assert MADE.fullmatch(one)
    assert one != two
    settings.TRUST_PROXY = True
    for given in ("req-0815", "a.B_c-" * 10, "0" * 64):
        assert made_from(given) == given
    for given in ("short12", "0" * 65, "a blank", 'a"quote', "ada@example.org", "päiväpäivä", ""):
        assert MADE.fullmatch(made_from(given)), given


def test_a_thread_of_a_request_logs_its_ids() -> None:
    with log_lines(), log_context.scope(), ThreadPoolExecutor(2) as pool:
        log_context.bind(request="req-0815")
        inherited = [
            pool.submit(log_context.inherited(log_context.bound)).result() for _ in range(2)
        ]
        alone = pool.submit(log_context.bound).result()
    assert inherited == [{"request": "req-0815"}] * 2
    assert alone == {}


@pytest.mark.django_db(transaction=True)
def test_a_replayed_form_has_a_new_request_id(lines: Lines, settings: Any) -> None:
    author = get_user_model().objects.create_superuser("edith", password="a long password")
    SubscriberFactory()
    window = browser()
    window.force_login(author)
    form = {
        "title": "Swifts",
        "text_content": "They are back.",
        "html_content": "<p>They are back.</p>",
        "idempotency_key": "one-key",
    }

    first, again = (
        window.post("/admin/newsletters/", form, secure=True, follow=False) for _ in range(2)
    )

    assert (first.status_code, again.status_code) == (303, 303)
    assert first["X-Request-ID"] != again["X-Request-ID"]
    (published,) = [
        line for line in lines() if line["logger"] == "publishing.publish.publish_edition"
    ]
    (replayed,) = [line for line in lines() if "posted again" in line["event"]]
    assert published["event"] == "version 1 of an issue was published; readers: 1"
    assert published["request"] == first["X-Request-ID"]
    assert published["author"] == str(author.pk)
    assert published["version"] == 1
    assert replayed["request"] == again["X-Request-ID"]
    assert [line.get("issue") for line in of_requests(lines)] == [published["issue"], None]
    assert "Swifts" not in json.dumps(lines())


@pytest.mark.django_db(transaction=True)
def test_rolled_back_work_is_not_logged_as_done(lines: Lines) -> None:
    author = get_user_model().objects.create_superuser("edith", password="a long password")
    content = Content(title="Swifts", html="<p>They are back.</p>", text="They are back.")

    def broken_off() -> None:
        with transaction.atomic():
            publish(author.pk, "one-key", content, hold_s=0)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken_off()
    assert lines() == []
    assert log_context.bound() == {}

    publish(author.pk, "one-key", content, hold_s=0)
    (line,) = lines()
    assert line["event"] == "version 1 of an issue was published; readers: 0"

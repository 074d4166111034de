"""Warnings about settings that contradict each other or the provider's stream."""

from typing import Any

import pytest

from delivery.check_settings import (
    check_settings,
)
from delivery.postmark.check_postmark_settings import find_unsubscribe_problem
from delivery.postmark.client import Postmark
from delivery.reports.reason_sentences import reason_sentence
from tests.delivery.http_responses import answering, http
from tests.delivery.postmark_responses import body, error
from tests.delivery.scripted_http_server import ScriptedServer


@pytest.mark.parametrize(
    ("lookups", "deadline_s", "named"),
    [
        ((60.0, 300.0, 900.0), 120.0, False),
        ((60.0, 120.0), 120.0, False),
        ((60.0, 119.0), 120.0, True),
        ((1.0,), 5.0, True),
    ],
)
def test_last_look_up_before_the_deadline_is_a_warning(
    settings: object, lookups: tuple[float, ...], deadline_s: float, named: bool
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = lookups  # type: ignore[attr-defined]
    settings.DELIVERY_HTTP_DEADLINE_S = deadline_s  # type: ignore[attr-defined]
    assert ("delivery.W002" in [each.id for each in check_settings()]) is named


@pytest.mark.parametrize(
    ("user", "password", "begins"),
    [
        ("", "", []),
        ("postmark", "long and random", []),
        ("postmark", "", ["POSTMARK_WEBHOOK_USER is set and POSTMARK_WEBHOOK_PASSWORD is not"]),
        ("", "long", ["POSTMARK_WEBHOOK_PASSWORD is set and POSTMARK_WEBHOOK_USER is not"]),
    ],
)
def test_half_of_the_webhook_credentials_is_a_warning(
    settings: object, user: str, password: str, begins: list[str]
) -> None:
    settings.POSTMARK_WEBHOOK_USER = user  # type: ignore[attr-defined]
    settings.POSTMARK_WEBHOOK_PASSWORD = password  # type: ignore[attr-defined]
    found = [each.msg for each in check_settings() if each.id == "delivery.W003"]
    assert [each.split(",")[0] for each in found] == begins


def warning_of(settings: Any, ours: str, answer: bytes) -> str:
    settings.UNSUBSCRIBE_HANDLING = ours
    settings.BROADCAST_STREAM = "letters"
    with ScriptedServer(answering(answer)) as server:
        client = Postmark(server.url, "secret-token", deadline_s=20.0)
        problem = find_unsubscribe_problem(client)
        client.close()
    return reason_sentence(problem)


def stream(handling: str) -> bytes:
    configured = {"SubscriptionManagementConfiguration": {"UnsubscribeHandlingType": handling}}
    return http("200 OK", body(configured))


@pytest.mark.parametrize(
    ("ours", "theirs"), [("own", "Custom"), ("own", "none"), ("postmark", "Postmark")]
)
def test_matching_unsubscribe_handling_gives_no_warning(
    settings: Any, ours: str, theirs: str
) -> None:
    assert warning_of(settings, ours, stream(theirs)) == ""


def test_second_unsubscribe_link_is_a_warning(settings: Any) -> None:
    assert warning_of(settings, "own", stream("Postmark")) == (
        "UNSUBSCRIBE_HANDLING is “own”, but Postmark's stream “letters” is set to “Postmark”. "
        "Readers may get two unsubscribe links. Set the stream to “Custom”, or "
        "UNSUBSCRIBE_HANDLING to “postmark”."
    )


@pytest.mark.parametrize("theirs", ["None", "Custom"])
def test_missing_unsubscribe_link_is_a_warning(settings: Any, theirs: str) -> None:
    sentence = warning_of(settings, "postmark", stream(theirs))
    assert f"is set to “{theirs}”" in sentence
    assert "no unsubscribe link" in sentence


@pytest.mark.parametrize(
    "answer", [http("503 No"), http("422 No", body(error(1226))), http("200 OK", b"?")]
)
def test_unanswered_query_about_the_stream_gives_no_warning(settings: Any, answer: bytes) -> None:
    assert warning_of(settings, "own", answer) == ""

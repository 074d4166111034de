"""Settings that contradict one another, or the stream's own, are named before anything is sent."""

from typing import Any

import pytest
import responses

from delivery.checks import (
    check_last_lookup_is_after_deadline,
    check_unsubscribe_handling,
    check_webhook_credentials,
)
from delivery.postmark.client import Postmark


@pytest.mark.parametrize(
    ("lookups", "deadline_s", "named"),
    [
        ((60.0, 300.0, 900.0), 120.0, False),
        ((60.0, 120.0), 120.0, False),
        ((60.0, 119.0), 120.0, True),
        ((1.0,), 5.0, True),
    ],
)
def test_a_last_look_up_before_the_deadline_is_advised_against(
    settings: object, lookups: tuple[float, ...], deadline_s: float, named: bool
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = lookups  # type: ignore[attr-defined]
    settings.DELIVERY_HTTP_DEADLINE_S = deadline_s  # type: ignore[attr-defined]
    advice = list(check_last_lookup_is_after_deadline())
    assert [each.id for each in advice] == (["delivery.W002"] if named else [])


@pytest.mark.parametrize(
    ("user", "password", "begins"),
    [
        ("", "", []),
        ("postmark", "long and random", []),
        ("postmark", "", ["POSTMARK_WEBHOOK_USER is set and POSTMARK_WEBHOOK_PASSWORD is not"]),
        ("", "long", ["POSTMARK_WEBHOOK_PASSWORD is set and POSTMARK_WEBHOOK_USER is not"]),
    ],
)
def test_a_webhook_with_half_of_its_credentials_is_advised_against(
    settings: object, user: str, password: str, begins: list[str]
) -> None:
    settings.POSTMARK_WEBHOOK_USER = user  # type: ignore[attr-defined]
    settings.POSTMARK_WEBHOOK_PASSWORD = password  # type: ignore[attr-defined]
    assert [each.msg.split(":")[0] for each in check_webhook_credentials()] == begins


URL = "https://postmark.example"


def said(settings: Any, ours: str, **answer: Any) -> str:
    settings.UNSUBSCRIBE_HANDLING = ours
    settings.POSTMARK_BROADCAST_STREAM = "letters"
    client = Postmark(URL, "secret-token", deadline_s=20.0)
    with responses.RequestsMock() as mock:
        mock.get(f"{URL}/message-streams/letters", **answer)
        said = check_unsubscribe_handling(client)
    client.close()
    return said


def stream(handling: str) -> dict[str, object]:
    return {"SubscriptionManagementConfiguration": {"UnsubscribeHandlingType": handling}}


@pytest.mark.parametrize(
    ("ours", "theirs"), [("own", "Custom"), ("own", "none"), ("postmark", "Postmark")]
)
def test_where_the_two_agree_nothing_is_said(settings: Any, ours: str, theirs: str) -> None:
    assert said(settings, ours, json=stream(theirs)) == ""


def test_where_postmark_adds_links_to_ours_it_is_said(settings: Any) -> None:
    assert said(settings, "own", json=stream("Postmark")) == (
        "UNSUBSCRIBE_HANDLING is 'own', but Postmark's stream 'letters' says 'Postmark'; "
        "expected 'Custom'. Change one of the two, or readers may find two unsubscribe links "
        "in their mail."
    )


@pytest.mark.parametrize("theirs", ["None", "Custom"])
def test_where_nobody_would_add_a_link_it_is_said(settings: Any, theirs: str) -> None:
    sentence = said(settings, "postmark", json=stream(theirs))
    assert f"says {theirs!r}; expected 'Postmark'" in sentence
    assert "no unsubscribe link" in sentence


@pytest.mark.parametrize(
    "answer", [{"status": 503}, {"json": {"ErrorCode": 1226}, "status": 422}, {"body": "?"}]
)
def test_a_worker_starts_although_postmark_is_silent(settings: Any, answer: dict[str, Any]) -> None:
    assert said(settings, "own", **answer) == ""

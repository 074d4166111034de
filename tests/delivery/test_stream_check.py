"""At start-up a worker compares its way of handling unsubscribes with the stream's own."""

from __future__ import annotations

from typing import Any

import pytest
import responses

from delivery.postmark import Postmark
from delivery.stream_check import disagreement

URL = "https://postmark.example"


def said(settings: Any, ours: str, **answer: Any) -> str:
    settings.UNSUBSCRIBE_HANDLING = ours
    settings.POSTMARK_BROADCAST_STREAM = "letters"
    client = Postmark(URL, "secret-token", deadline_s=20.0)
    with responses.RequestsMock() as mock:
        mock.get(f"{URL}/message-streams/letters", **answer)
        said = disagreement(client)
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
def test_a_worker_starts_although_postmark_does_not_tell(
    settings: Any, answer: dict[str, Any]
) -> None:
    assert said(settings, "own", **answer) == ""

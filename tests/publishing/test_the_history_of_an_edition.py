"""What happened to an edition stands on its page, the newest first."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from delivery.models import Edition
from publishing.history import words_of
from publishing.publish import publish
from tests.publishing.ledger import in_doubt
from tests.publishing.letters import letter

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 9, 17, 6, 30, tzinfo=UTC)


@pytest.fixture
def edition(author, three_readers):
    """A letter to three readers."""
    return publish(author.pk, "k", letter(), hold_s=0).edition


def address(edition, more=""):
    return f"/admin/newsletters/{edition.issue_id}/{more}"


def happened(page):
    """The words of the history."""
    part = re.search(r'<h2 id="what">.*?</section>', page.html, re.S)[0]
    return re.findall(r"</time><span>([^<]*)</span>", part)


def test_it_says_who_published_paused_and_resumed_the_newest_first(window, edition):
    window.post(address(edition, "pause/"))
    window.post(address(edition, "resume/"))

    assert happened(window.get(address(edition))) == [
        "Edith Marlow: resumed",
        "Edith Marlow: paused",
        "Edith Marlow: published to 3 readers",
    ]


def test_what_homing_did_itself_stands_there_too(window, edition):
    Edition.objects.filter(pk=edition.pk).update(
        control="stopped", control_reason="Postmark refuses the sender.", control_at=NOW
    )
    in_doubt(edition, "Ada")

    words = happened(window.get(address(edition)))

    assert "Homing stopped it: Postmark refuses the sender" in words
    assert "No answer came back about 1 copy" in words


def test_every_version_has_its_own_and_what_is_about_the_issue_stands_with_all():
    assert words_of("Paused, version 1.", "Edith", 1) == "Edith: paused"
    assert words_of("Paused, version 1.", "Edith", 2) == ""
    assert words_of("Paused, version 12.", "Edith", 1) == ""
    assert words_of("Published version 2 to everyone confirmed: 3 readers.", "E", 2) == (
        "E: published to everyone confirmed: 3 readers"
    )
    assert words_of("Made unlisted.", "Edith", 2) == "Edith: made unlisted"


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ("Looked at the alarms, version 2.", "Edith: looked at the alarms"),
        (
            "Downloaded the waiting readers of version 2 as CSV.",
            "Edith: downloaded the waiting readers as CSV",
        ),
        (
            "Version 2 went out by itself at its time, to 3 readers.",
            "It went out by itself at its time, to 3 readers",
        ),
    ],
)
def test_without_its_version_it_is_a_sentence_and_stands_with_that_version_alone(kept, words):
    assert words_of(kept, "Edith", 2) == words
    assert words_of(kept, "Edith", 1) == ""

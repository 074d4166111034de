"""`manage.py publish --issue ID --version N`: a correction from a script."""

from __future__ import annotations

import json

import pytest

from delivery.models import Delivery, Edition
from publishing.publish import publish
from tests.publishing.ledger import sent
from tests.publishing.letters import letter
from tests.typed_commands import typed

pytestmark = pytest.mark.django_db(transaction=True)

NOTHING = "nothing was sent and nothing was changed."
NOBODY = "so nobody was sent an earlier version; publish it to everyone."
STILL_GOING = (
    "Version 1 is still being sent: 3 copies wait. Their readers get version 1 and then this one; "
    "cancel version 1 if nobody else should get it."
)


@pytest.fixture
def first(author, three_readers):
    """Version 1, to three readers."""
    return publish(author.pk, "first", letter("Swifts"), hold_s=0).edition


@pytest.fixture
def correct(database_url, first, tmp_path):
    """Run the command in a process of its own, as a script does; the text is a file."""

    def run(*arguments, text="Fourteen, not forty.\n"):
        file = tmp_path / "letter.txt"
        file.write_text(text)
        return typed(
            database_url,
            *("publish", "--title", "Swifts", "--author", "edith", "--text-file", str(file)),
            *arguments,
        )

    return run


def last_line(done):
    return json.loads(done.stdout.splitlines()[-1])


def test_a_correction_is_published_once_and_again_returns_what_is_there(correct, first):
    sent(first, "Ada", "Bram")
    version_2 = ("--issue", str(first.issue_id), "--version", "2", "--goes-to", "reached")

    made, again = correct(*version_2), correct(*version_2)

    told = {"issue": str(first.issue_id), "version": 2, "audience": 2}
    assert last_line(made) == {**told, "created": True}
    assert last_line(again) == {**told, "created": False}
    assert (made.returncode, again.returncode, again.stderr) == (0, 0, "")
    assert Edition.objects.get(version=2).goes_to == "reached"
    assert Delivery.objects.filter(version=2).count() == 2


def test_it_says_that_an_earlier_version_is_still_being_sent(correct, first):
    done = correct("--issue", str(first.issue_id), "--version", "2")

    assert done.returncode == 0
    assert STILL_GOING in done.stderr.splitlines()


def test_a_version_that_is_there_with_other_words_is_printed_and_the_difference_told(
    correct, first
):
    sent(first)
    version_2 = ("--issue", str(first.issue_id), "--version", "2")
    correct(*version_2)

    done = correct(*version_2, "--goes-to", "reached", text="Third thoughts.\n")

    assert done.returncode == 0
    assert not last_line(done)["created"]
    assert done.stderr.splitlines() == [
        f"Version 2 of “Swifts” is there already, with other content; {NOTHING}",
        "Version 2 went to everyone confirmed.",
    ]
    assert Edition.objects.get(version=2).text_content == "Fourteen, not forty.\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--issue", "ISSUE", "--version", "3"),
            "There is no version 3 of “Swifts”: version 1 is there, so the next is version 2.",
        ),
        (
            ("--issue", "ISSUE", "--version", "0"),
            "'0' is not a version; a whole number from 1 is expected.",
        ),
        (
            ("--issue", "ISSUE"),
            "No version is named of “Swifts”: version 1 is there, so the next is version 2.",
        ),
        (
            ("--issue", "swifts", "--version", "2"),
            "'swifts' is not the id of an issue; a UUID is expected.",
        ),
        (("--version", "2"), "--version is about an issue that exists; name it with --issue."),
        (
            ("--goes-to", "reached"),
            "--goes-to is about an issue that exists; name it with --issue.",
        ),
        (
            ("--issue", "ISSUE", "--version", "2", "--goes-to", "reached"),
            f"No copy of “Swifts” went out yet, {NOBODY}",
        ),
        (
            ("--issue", "ISSUE", "--version", "2", "--idempotency-key", "first"),
            f"This key was already used to publish “Swifts” with other content; {NOTHING}",
        ),
    ],
)
def test_what_cannot_be_published_is_refused_in_one_sentence(correct, first, arguments, sentence):
    done = correct(*[str(first.issue_id) if word == "ISSUE" else word for word in arguments])

    assert (done.returncode, done.stderr.strip()) == (1, f"CommandError: {sentence}")
    assert Edition.objects.count() == 1

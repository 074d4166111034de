"""The command `publish` publishes once per key and version, and explains errors."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from delivery.models import Delivery, Edition
from publishing.actions.edition_actions import ACTIONS
from publishing.editions.versions import overlap_warnings
from publishing.management.commands import edition
from publishing.publish.publish_edition import publish
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import sent

pytestmark = pytest.mark.django_db(transaction=True)

UNKNOWN = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Write a letter to a file that begins with a byte order mark."""
    file = tmp_path / "letter.txt"
    file.write_text("\ufeffThey have gone.\n")
    return file


@pytest.fixture
def first(author, three_readers) -> Edition:
    """Publish version 1 to three readers."""
    return publish(author.pk, "first", letter("Swifts"), hold_s=0).edition


def script(*arguments: object) -> tuple[dict[str, Any], list[str]]:
    """Run the command; return the JSON in its last output line, and stderr."""
    out, err = io.StringIO(), io.StringIO()
    call_command("publish", *map(str, arguments), stdout=out, stderr=err)
    return json.loads(out.getvalue().splitlines()[-1]), err.getvalue().splitlines()


def correct(first: Edition, text: Path, *arguments: object) -> tuple[dict[str, Any], list[str]]:
    return script(
        *("--title", "Swifts", "--author", "edith", "--text-file", text),
        *("--issue", first.issue_id, *arguments),
    )


def test_letter_is_published_and_last_line_is_the_result(author, text):
    printed, _ = script(
        "--title", "Swifts", "--author", "edith", "--text-file", text, "--preheader", "Quite."
    )

    edition = Edition.objects.get()
    assert (edition.text_content, edition.preview_text) == ("They have gone.\n", "Quite.")
    assert printed["issue"] == str(edition.issue_id)


OF_EDITH = ("--title", "T", "--author", "edith", "--text-file", "README.md")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--title", "a\udcffb", "--text-file", "README.md"), r"--title is 'a\\udcffb', which is"),
        (("--title", "T", "--author", "\udcff", "--text-file", "README.md"), "--author is"),
        (("--title", "T", "--html-file", "/dev/zero"), "is too large"),
        (("--title", "T", "--author", "edith", "--text-file", "UTF-16"), "NUL"),
        (("--title", "T", "--author", "edith", "--text-file", "LATIN"), "not UTF-8"),
        ((*OF_EDITH, "--version", "2"), "name its issue"),
        ((*OF_EDITH, "--goes-to", "reached"), "name its issue"),
        (("--title", "T", "--text-file", "no"), "^“no” cannot be read: No such file"),
    ],
)
def test_unreadable_input_is_refused(author, tmp_path, arguments, named):
    (tmp_path / "UTF-16").write_text("They have gone.", encoding="utf-16-le")
    (tmp_path / "LATIN").write_text("Grüße", encoding="latin-1")
    files = {name: tmp_path / name for name in ("UTF-16", "LATIN")}

    with pytest.raises(CommandError, match=named):
        script(*(files.get(word, word) for word in arguments))
    assert not Edition.objects.exists()


@pytest.mark.parametrize("command", [("issue_status",), ("edition", "resume")])
def test_version_of_thousands_of_digits_is_refused_with_a_sentence(db, command):
    with pytest.raises(CommandError, match=f"^“{'9' * 39}…” is not a version"):
        call_command(*command, UNKNOWN, "--version", "9" * 5000)


def test_repeated_correction_returns_the_first_edition(first, text):
    sent(first, "Ada", "Bram")
    version_2 = ("--version", "2", "--goes-to", "reached")

    made, about_the_first = correct(first, text, *version_2)
    again, messages = correct(first, text, *version_2)

    printed = {"issue": str(first.issue_id), "version": 2, "audience": 2}
    assert (made, again) == ({**printed, "created": True}, {**printed, "created": False})
    assert set(overlap_warnings(first.issue_id, 2, "reached")) <= set(about_the_first)
    assert messages == []
    assert Edition.objects.get(version=2).goes_to == "reached"
    assert Delivery.objects.filter(version=2).count() == 2

    text.write_text("Third thoughts.\n")
    other, messages = correct(first, text, "--version", "2")
    assert not other["created"]
    assert len(messages) == 2
    assert Edition.objects.get(version=2).text_content == "They have gone.\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--version", "3"), "Version 3 of “Swifts” does not exist"),
        (("--version", "0"), "“0” is not a version"),
        ((), "Name the version"),
        (("--issue", "swifts", "--version", "2"), "“swifts” is not the id"),
        (("--version", "2", "--goes-to", "reached"), "Publish it to everyone"),
        (("--version", "2", "--idempotency-key", "first"), "with other content"),
    ],
)
def test_a_correction_that_cannot_be_published_is_refused(first, text, arguments, named):
    with pytest.raises(CommandError, match=named):
        correct(first, text, *arguments)
    assert Edition.objects.count() == 1


def test_help_of_edition_explains_each_action_on_its_own_line() -> None:
    listed = edition.Command().create_parser("homing", "edition").format_help().splitlines()
    for action in ACTIONS:
        assert any(f" {action}: " in line for line in listed), action

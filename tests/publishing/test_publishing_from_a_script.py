"""`manage.py publish` and its like: what is wrong is said in one sentence."""

from __future__ import annotations

import json
import subprocess
from functools import partial

import pytest

from delivery.models import Edition
from tests.typed_commands import typed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def manage(database_url, author):
    """Run a command as a script does."""
    return partial(typed, database_url)


def refused(done: subprocess.CompletedProcess[str], sentence: str) -> bool:
    """It ended with this sentence alone, and nothing was published."""
    return (
        done.returncode == 1
        and done.stderr.strip() == f"CommandError: {sentence}"
        and not Edition.objects.exists()
    )


def test_a_letter_is_published_and_the_last_line_says_what_came_of_it(manage, tmp_path):
    text = tmp_path / "letter.txt"
    text.write_text("\ufeffThey have gone.\n")

    done = manage("publish", "--title", "Swifts", "--author", "edith", "--text-file", str(text))

    edition = Edition.objects.get()
    assert edition.text_content == "They have gone.\n"
    assert json.loads(done.stdout.splitlines()[-1])["issue"] == str(edition.issue_id)


def test_a_title_that_is_not_utf8_is_refused(manage):
    done = manage("publish", "--title", b"a\xffb", "--text-file", "README.md")

    assert refused(done, "--title is 'a\\udcffb', which is not UTF-8; give UTF-8.")


def test_an_author_who_is_not_utf8_is_refused(manage):
    done = manage("publish", "--title", "T", "--author", b"\xff", "--text-file", "README.md")

    assert refused(done, "--author is '\\udcff', which is not UTF-8; give UTF-8.")


def test_a_file_that_never_ends_is_refused_once_it_is_longer_than_any_part(manage):
    done = manage("publish", "--title", "T", "--html-file", "/dev/zero")

    assert refused(done, "/dev/zero is larger than any part may be (4,000,000 bytes).")


def test_a_file_that_is_not_utf8_text_is_refused(manage, tmp_path):
    utf_16 = tmp_path / "letter.txt"
    utf_16.write_text("They have gone.", encoding="utf-16-le")
    latin_1 = tmp_path / "brief.txt"
    latin_1.write_text("Grüße", encoding="latin-1")

    done = manage("publish", "--title", "T", "--author", "edith", "--text-file", str(utf_16))
    assert refused(done, "This part holds a NUL character, which no mail can carry; remove it.")
    done = manage("publish", "--title", "T", "--author", "edith", "--text-file", str(latin_1))
    assert refused(done, f"{latin_1} is not UTF-8; save it as UTF-8 and try again.")


@pytest.mark.parametrize("command", [("issue_status",), ("edition", "resume")])
def test_a_version_of_thousands_of_digits_is_refused_in_our_own_words(manage, command):
    done = manage(*command, "00000000-0000-0000-0000-000000000000", "--version", "9" * 5000)

    sentence = f"'{'9' * 39}…' is not a version; a whole number from 1 is expected."
    assert refused(done, sentence)

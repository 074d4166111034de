"""The word count of a letter, equal in the composer and on the check sheet."""

import re

import pytest

from idempotency.key import fresh_key
from publishing.content.draft_content import HTML, MARKDOWN, DraftFields
from publishing.content.word_count import count_words
from publishing.drafts import save_draft

TEXTS = {
    "": 0,
    " \n": 0,
    "Swifts leave.": 2,
    # A merge field counts as one word, or as its fallback.
    "Dear {{ name }}, they left.": 4,
    "Dear {{ name|dear old reader }}, they left.": 4,
    "{{ name }}": 1,
    "It is {{ name|nobody }}’s.": 3,
    "Write to {{ email }}, not to ada@posthouse.example.": 6,
    # URLs and links of the letter do not count.
    "See https://almanack.org/a-b/c?d=e here.": 2,
    "See the map (https://almanack.org/?who={{ email }}).": 3,
    "Leave ({{ unsubscribe_url }}) or read ({{ archive_url|nowhere }}).": 3,
    "Leave: {{{ pm:unsubscribe }}}": 1,
    "A well-known bird, it’s 1,000 years, 10:30, 3.5 m.": 9,
    "North and/or south, here—there.": 6,
    # Lines and marks of the text part.
    "Swifts\n======\n\n- one\n- two\n\n* * *\n\na  b\n-  -\n\n____": 5,
    "Grüße, мир, été": 3,
}


def test_words_are_counted_as_readers_see_them() -> None:
    assert {text: count_words(text) for text in TEXTS} == TEXTS


def test_counting_takes_linear_time() -> None:
    for hard in ("a-" * 200_000, "1,1" * 200_000, "{{ " * 200_000, "https://" * 200_000):
        assert count_words(hard) >= 0


LETTERS = {
    "a list and a table": (
        MARKDOWN,
        "- one\n- two\n\n---\n\n| a | b |\n|---|---|\n| 1,000 | 2 |",
        6,
    ),
    "HTML": (HTML, "<h1>Swifts</h1><p>Dear {{ name }}, <i>gone</i>&nbsp;– all.</p>", 5),
    "nothing": (MARKDOWN, "", 0),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("named", LETTERS)
def test_composer_and_check_sheet_count_the_same_words(window, author, named: str) -> None:
    written_in, letter, words = LETTERS[named]

    only_text = DraftFields(title="Swifts", format=MARKDOWN, text="Dear {{ name }}, gone.")
    assert _counted(window, author, only_text) == (3, 3)
    composer, check = _counted(
        window, author, DraftFields(title="Swifts", format=written_in, letter=letter)
    )

    assert composer == words
    # The check sheet reports an empty text as missing.
    assert check == (words if words else None)


def _draft(author, written: DraftFields):
    return save_draft.create(author.pk, fresh_key(), written).draft


def _counted(window, author, written: DraftFields) -> tuple[int, int | None]:
    """Return the word counts in the composer and on the check sheet."""
    draft = _draft(author, written)
    page = window.get(f"/admin/newsletters/drafts/{draft.pk}/").words
    check = window.get(f"/admin/newsletters/drafts/{draft.pk}/check/").words
    composers = re.search(r"([\d,]+) words?, [\d,]+ kB as mail", page)
    checks = re.search(r"The plain text has ([\d,]+) words?\.", check)
    assert composers
    return int(composers[1]), int(checks[1]) if checks else None

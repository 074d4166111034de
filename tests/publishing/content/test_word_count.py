"""The word count of a letter, equal in the composer and on the check sheet."""

import pytest

from idempotency.key import fresh_key
from publishing.content.draft_content import HTML, MARKDOWN, DraftFields
from publishing.content.word_count import count_words
from publishing.drafts import save_draft

TEXTS = {
    "": 0,
    " \n": 0,
    "Swifts leave.": 2,
    # A merge field counts as one word, or as the words of its fallback.
    "Dear {{ name }}, they left.": 4,
    "Dear {{ name|dear old reader }}, they left.": 4,
    "{{ name }}": 1,
    "It is {{ name|nobody }}’s.": 3,
    "Write to {{ email }}, not to ada@posthouse.example.": 6,
    # URLs and addresses of links are not counted.
    "See https://almanack.org/a-b/c?d=e here.": 2,
    "See the map (https://almanack.org/?who={{ email }}).": 3,
    "Leave ({{ unsubscribe_url }}) or read ({{ archive_url|nowhere }}).": 3,
    "Leave: {{{ pm:unsubscribe }}}": 1,
    "A well-known bird, it’s 1,000 years, 10:30, 3.5 m.": 9,
    "North and/or south, here—there.": 6,
    # Horizontal rules and list marks in the text part do not count as words.
    "Swifts\n======\n\n- one\n- two\n\n* * *\n\na  b\n-  -\n\n____": 5,
    "Grüße, мир, été": 3,
}


def test_words_are_counted_as_readers_see_them() -> None:
    assert {text: count_words(text) for text in TEXTS} == TEXTS


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("form", "letter", "words"),
    [
        (MARKDOWN, "- one\n- two\n\n---\n\n| a | b |\n|---|---|\n| 1,000 | 2 |", 6),
        (HTML, "<h1>Swifts</h1><p>Dear {{ name }}, <i>gone</i>&nbsp;– all.</p>", 5),
    ],
)
def test_composer_and_check_sheet_count_the_same_words(
    window, author, form: str, letter: str, words: int
) -> None:
    written = DraftFields(title="Swifts", format=form, letter=letter)
    draft = save_draft.create(author.pk, fresh_key(), written).draft
    composer = window.get(f"/admin/newsletters/drafts/{draft.pk}/").words
    assert f"{words} words · 1 minute to read" in composer
    check = window.get(f"/admin/newsletters/drafts/{draft.pk}/check/").words
    assert f"The plain text has {words} words." in check

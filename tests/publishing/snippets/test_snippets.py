"""Authors save snippets, and the composer offers them."""

import html

import pytest
from django.contrib.admin.models import LogEntry

from publishing.activity.activity_sentences import plain_sentence_of
from publishing.models import Draft, Snippet
from publishing.snippets.save_snippet import (
    LONGEST_TEXT,
)
from tests.publishing.author_browser import FORM, WindowOf

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = f"{FORM}snippets/"
ADD = f"{PAGE}add/"
SIGNATURE = {"name": "Signature", "text": "Yours,\r\n\r\n**Edith** & Bram"}


@pytest.fixture
def window(new_author):
    """Return the window of an author who may only write."""
    return WindowOf(new_author("wanda", "write_draft", first_name="Wanda"))


def test_a_snippet_is_added_listed_changed_and_deleted(window):
    assert "There are no snippets yet" in window.get(PAGE).words
    assert window.post(ADD, **SIGNATURE).status == 303
    signature = Snippet.objects.get()
    assert signature.text == "Yours,\n\n**Edith** & Bram"
    assert "Signature Yours, **Edith** & Bram" in window.get(PAGE).words
    own = f"{PAGE}{signature.pk}/"
    form = window.get(own).form_with("text").fields

    window.post(own, **{**form, "name": "Sign-off"})

    assert "Saved." in window.get(PAGE).words
    assert "Delete the snippet “Sign-off”?" in window.get(f"{own}delete/").words
    assert Snippet.objects.exists()
    for _ in range(2):
        assert window.post(f"{own}delete/").status == 303
    assert not Snippet.objects.exists()
    assert window.get(own).status == 404
    log = [plain_sentence_of(entry) for entry in LogEntry.objects.order_by("pk")]
    assert log == ["Wanda added Signature.", "Wanda edited Sign-off.", "Wanda deleted Sign-off."]


def test_a_form_posted_twice_saves_one_snippet(window):
    assert [window.post(ADD, **SIGNATURE).status for _ in range(2)] == [303, 303]

    own = f"{PAGE}{Snippet.objects.get().pk}/"
    assert window.post(own, **SIGNATURE).status == 303

    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"name": " signature "}, "There is a snippet “signature” already. Choose another name."),
        ({"name": "x" * 61}, "at most 60 characters"),
        ({"name": " "}, "This field is required."),
        ({"name": "\u200b"}, "This field is required."),
        ({"name": "\x01 \ufffe"}, "This field is required."),
        ({"text": " \n"}, "This field is required."),
        ({"text": "x" * (LONGEST_TEXT + 1)}, "at most 10,000 characters"),
        ({"text": "a\x00b"}, "Null characters are not allowed."),
        ({"name": "a\x00b"}, "Null characters are not allowed."),
    ],
)
def test_a_bad_snippet_is_refused_with_a_reason(window, changes, error):
    window.post(ADD, **SIGNATURE)

    page = window.post(ADD, **{"name": "Sponsor", "text": "Thanks to our sponsor", **changes})

    assert page.title.startswith("Error: ")
    assert error.replace(",000", "000") in page.words.replace(",000", "000")
    assert Snippet.objects.count() == 1


@pytest.mark.parametrize(
    ("first", "second"), [("Straße", "STRAẞE"), ("kilo", "\u212ailo"), ("I", "\u0130")]
)
def test_names_are_compared_as_the_database_does(window, first, second):
    """With another comparison, the page would accept a name that the database refuses."""
    statuses = [window.post(ADD, name=name, text=name).status for name in (first, second)]

    assert statuses == [303, 200]


def test_a_text_of_many_lines_may_have_its_full_length(window):
    text = "a\r\n" * (LONGEST_TEXT // 2 - 1) + "bc"

    window.post(ADD, name="Long", text=text)

    assert len(Snippet.objects.get().text) == LONGEST_TEXT


def test_the_composer_offers_snippets_in_the_format_of_the_letter(window):
    assert (
        "There are no snippets yet. Add your signature as one." in window.get(f"{FORM}write/").words
    )
    Snippet.objects.create(name="Sponsor", text='"Thanks"')
    signature = Snippet.objects.create(name="Ours & yours", text="**Edith**\n\n{{ name }}")
    draft = Draft.objects.create(format="html", letter="<p>x</p>")

    page, of_html = window.get(f"{FORM}write/"), window.get(f"{FORM}drafts/{draft.pk}/")

    ours = (
        f'<button type="button" data-insert="{signature.text}" data-slash>Ours &amp; yours</button>'
    )
    assert ours in page.source
    assert page.source.index(ours) < page.source.index('data-insert="&quot;Thanks&quot;"')
    made = html.escape("<p><strong>Edith</strong></p>\n<p>{{ name }}</p>\n")
    assert f'data-insert="{made}"' in of_html.source

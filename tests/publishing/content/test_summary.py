"""The summary under a title has the letter's own first words, without mark-up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publishing.archive.archived_editions import latest_issues
from publishing.content.summary import LONGEST, summarise
from publishing.publish.publish_edition import publish
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter

FIRST = "They are gone between one evening and the next."


@pytest.mark.parametrize(
    "html",
    [
        f"<p>{FIRST}</p><p>Another paragraph that is longer than the first one, by far.</p>",
        f"<p>Dear {{{{ name|reader }}}},</p><p>{FIRST}</p>",
        f"<h1>Swifts</h1><p>View in browser</p><p class=open>They are <b>gone</b> {FIRST[14:]}</p>",
        f"<!doctype html><head><title>T</title><style>p{{}}</style></head><body><p>{FIRST}</p>",
        f"<p>They are gone between one evening<br>and the next.</p><script>{FIRST}</script>",
        f"<table><tr><td>They are gone</td><td>{FIRST[14:]}</td></tr></table>",
    ],
)
def test_the_summary_is_the_first_paragraph_with_content(html):
    assert summarise(html, "The text part.") == FIRST


def test_plain_text_letter_is_summarised_by_its_text():
    text = FIRST.replace(" and", "\n and")
    assert summarise(" ", f"Dear {{{{ name|reader }}}},\n\n{text}\n") == FIRST
    assert summarise('<p><img src="https://example.org/a.png"></p>', FIRST) == FIRST
    assert summarise("<p>Dear you,</p><p>come.</p>", "") == "Dear you, come."
    assert summarise("<p>a &lt;b&gt; &amp; c</p>", "") == "a <b> & c"
    assert summarise(f"<p>{FIRST}</p>", "", "{{ name }}") == FIRST


def test_long_paragraph_is_cut_at_sentence_or_word():
    sentences = f"{FIRST} " * 6
    assert summarise(f"<p>{sentences}</p>", "") == f"{FIRST} {FIRST} {FIRST}"

    cut = summarise(f"<p>{'heron, ' * 60}</p>", "")
    assert cut.endswith("heron…")
    assert len(cut) <= LONGEST


@given(st.text(max_size=400), st.text(max_size=400))
def test_summary_of_any_letter_is_plain_and_short(html, text):
    summary = summarise(html, text)

    assert len(summary) <= LONGEST
    assert summary == " ".join(summary.split())


@pytest.mark.django_db(transaction=True)
def test_archive_list_and_latest_issue_show_the_summary(author):
    publish(author.pk, "k1", letter("First", html=f"<p>{FIRST}</p>"), hold_s=0)
    document = f"<html><head><style>{'p{} ' * 3000}</style></head><body><p>Later. {FIRST}</p>"
    publish(author.pk, "k2", letter("Second", html=document), hold_s=0)

    newest, older = latest_issues(5)
    assert (newest["title"], newest["summary"]) == ("Second", f"Later. {FIRST}")
    assert (older["title"], older["summary"]) == ("First", FIRST)
    assert latest_issues(1) == [newest]
    assert f"First {FIRST}" in WindowOf(None).get("/archive/").words

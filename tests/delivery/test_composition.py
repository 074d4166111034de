"""From what an author wrote to the mail that is frozen with the edition."""

from __future__ import annotations

import pytest

from delivery.composition import Mail, compose
from delivery.merge_fields import Template, unknown_fields, uses
from delivery.models import Newsletter

SITE = "https://letter.example.org"
NEWSLETTER = Newsletter(name="Ada & Friends", postal_address="1 Quay <b>, Lisbon", language="en-GB")


def mail(html: str = "", text: str = "", *, title: str = "Tides") -> Mail:
    return compose(title, html, text, newsletter=NEWSLETTER, site_url=SITE)


# --- HTML ---------------------------------------------------------------------------------------


def test_a_fragment_gets_the_letters_frame_around_it_as_it_is() -> None:
    html = mail("<p>It's <em>high</em> tide, {{ name|friend }} & all.</p>").html
    assert html.lower().startswith("<!doctype html>")
    assert "<p>It's <em>high</em> tide, {{ name|friend }} & all.</p>" in html
    assert '<html lang="en-GB">' in html
    assert "Ada &amp; Friends" in html


def test_a_fragment_gets_the_title_unless_it_has_one() -> None:
    assert "<h1>Tides</h1>" in mail("<p>x</p>").html
    assert "<h1>Tides</h1>" not in mail("<h1>My own</h1>").html
    assert "<h1>Tides</h1>" not in mail('<H1 class="a">My own</H1>').html


def test_a_title_is_escaped_and_keeps_its_fields() -> None:
    html = mail("<p>x</p>", title="Fish & <chips> for {{ name|you & me }}").html
    assert "<title>Fish &amp; &lt;chips&gt; for {{ name|you &amp; me }}</title>" in html
    filled = Template(html, html=True).fill({"name": ""})
    assert "<h1>Fish &amp; &lt;chips&gt; for you &amp; me</h1>" in filled


def test_a_name_in_a_title_cannot_leave_the_attribute_it_stands_in() -> None:
    html = mail("<p>x</p>", title="For {{ name }}").html
    filled = Template(html, html=True).fill({"name": '"><script>'})
    assert "<script>" not in filled
    assert 'aria-label="For &quot;&gt;&lt;script&gt;"' in filled


def test_the_letters_own_fields_are_all_known() -> None:
    made = mail("<p>x</p>", "x")
    assert unknown_fields(made.html) == []
    assert unknown_fields(made.text) == []


def test_a_fragment_without_a_way_out_gets_one_and_the_postal_address() -> None:
    html = mail("<p>x</p>").html
    assert html.count("{{ unsubscribe_url }}") == 1
    assert "{{ archive_url }}" in html
    assert "1 Quay &lt;b&gt;, Lisbon" in html


def test_a_fragment_with_its_own_way_out_keeps_it_as_the_only_one() -> None:
    html = mail('<a href="{{ unsubscribe_url }}">Leave</a>').html
    assert html.count("unsubscribe_url") == 1
    assert "1 Quay" in html


DOCUMENT = "<!DOCTYPE html><html><head><title>Mine</title></head><body><p>x</p>{}</body></html>"


def test_a_whole_document_with_a_way_out_is_kept_to_the_letter() -> None:
    document = DOCUMENT.format('<a href="{{ unsubscribe_url }}">Leave</a>')
    assert mail(document).html == document


def test_a_whole_document_without_a_way_out_gets_one_before_its_end() -> None:
    html = mail(DOCUMENT.format("<p>last</p>")).html
    before, _, after = html.partition("{{ unsubscribe_url }}")
    assert before.startswith("<!DOCTYPE html><html><head><title>Mine</title>")
    assert "<p>last</p>" in before
    assert after.endswith("</body></html>")
    assert "Ada &amp; Friends" in html


@pytest.mark.parametrize("document", ["<html><p>x</p>", "<BODY><p>x</p></ BODY ></HTML>", "<body>"])
def test_a_document_that_is_not_closed_well_gets_its_way_out_all_the_same(document: str) -> None:
    assert uses(mail(document).html, "unsubscribe_url")


# --- Addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('<a href="/about/">', f'<a href="{SITE}/about/">'),
        ("<img src='/media/x.png'>", f"<img src='{SITE}/media/x.png'>"),
        ('<a HREF = "/">', f'<a HREF = "{SITE}/">'),
        ('<a href="//cdn.example.net/x">', '<a href="//cdn.example.net/x">'),
        ('<a href="https://example.net/x">', '<a href="https://example.net/x">'),
        ('<a href="#top">', '<a href="#top">'),
        ('<a href="mailto:a@example.net">', '<a href="mailto:a@example.net">'),
        ('<a href="{{ archive_url }}">', '<a href="{{ archive_url }}">'),
    ],
)
def test_an_address_on_the_site_is_made_whole_and_no_other(written: str, sent: str) -> None:
    assert sent in mail(written).html
    assert sent in mail(DOCUMENT.format(written)).html


# --- Text ---------------------------------------------------------------------------------------


def test_a_text_without_a_way_out_gets_a_foot() -> None:
    assert mail(text="Hello {{ name|you }}\n\n").text == (
        "Hello {{ name|you }}\n\n--\n"
        "You get Ada & Friends because you signed up with {{ email }}.\n"
        "Unsubscribe: {{ unsubscribe_url }}\n"
        "Read it on the web: {{ archive_url }}\n"
        "Ada & Friends, 1 Quay <b>, Lisbon\n"
    )


def test_a_text_with_its_own_way_out_is_kept() -> None:
    assert mail(text="Leave: {{ unsubscribe_url }}").text == "Leave: {{ unsubscribe_url }}\n"


def test_line_ends_of_a_browser_become_plain() -> None:
    text = mail(text="a\r\nb\rc {{ unsubscribe_url }}\r\n").text
    assert text == "a\nb\nc {{ unsubscribe_url }}\n"


@pytest.mark.parametrize("blank", ["", "  ", "\r\n\t\n"])
def test_a_part_that_was_not_written_stays_empty(blank: str) -> None:
    assert mail(html=blank, text="x").html == ""
    assert mail(html="<p>x</p>", text=blank).text == ""


def test_without_a_postal_address_none_is_made_up() -> None:
    bare = Newsletter(name="Bare", postal_address="")
    made = compose("T", "<p>x</p>", "x", newsletter=bare, site_url=SITE)
    assert made.text.endswith("Read it on the web: {{ archive_url }}\n")
    assert "Bare," not in made.html

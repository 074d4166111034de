"""HTTP of the archive: caching, revalidation, metadata and headers."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest
from django.test import Client

from delivery.models import Newsletter
from publishing.content.letter_images import first_image
from publishing.content.sanitise_html import sanitise_html
from subscribers.consent import consent_wording
from subscribers.models import Subscriber
from tests.publishing.author_browser import Page
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import cancelled, sent
from tests.publishing.publish_with import publish

pytestmark = pytest.mark.django_db(transaction=True)

ATOM = "{http://www.w3.org/2005/Atom}"
XML = "{http://www.w3.org/XML/1998/namespace}"
FEED = "/archive/feed.xml"
SITE = "https://letter.example.org"
META = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">')


@pytest.fixture
def first(author, three_readers):
    """Publish a letter without a hold."""
    html = (
        '<p>They are “gone” between one evening & the next.</p><img src="/static/swifts.png">'
        '<h2 id="main">Where</h2><a href="#main">Where</a>'
    )
    edition = publish(author.pk, "first", letter("Swifts", html=html), hold_s=0).edition
    sent(edition)
    return edition


def everywhere(edition):
    return ["/archive/", FEED, edition.archive_url.removeprefix(SITE)]


def again(public_window, address, answer):
    """Request the address again, and send the ETag of the first answer."""
    asked = public_window.client.get(
        address, secure=True, headers={"If-None-Match": answer["ETag"]}
    )
    return Page(asked)


def test_unchanged_pages_answer_304_and_are_cacheable(public_window, first):
    for address in everywhere(first):
        answer = public_window.get(address).answer

        still = again(public_window, address, answer)

        assert (still.status, still.html) == (304, "")
        for header in ("ETag", "Cache-Control", "Content-Security-Policy"):
            assert still.answer[header] == answer[header]
        for kept in ("public", "max-age=60"):
            assert kept in answer["Cache-Control"]
        assert not answer.cookies
        assert "Cookie" not in answer.get("Vary", "")


def test_changed_pages_are_sent_again_in_full(public_window, author, first):
    before = {address: public_window.get(address).answer for address in everywhere(first)}
    assert "article:modified_time" not in public_window.get("/archive/swifts/").html

    publish(author.pk, "k", letter("Mended"), hold_s=0, issue=first.issue_id, version=2)

    for address, answer in before.items():
        page = again(public_window, address, answer)
        assert page.status == 200
        assert "Mended" in page.html
    meta = dict(META.findall(public_window.get("/archive/swifts/").html))
    assert meta["article:modified_time"] > meta["article:published_time"]


def test_caches_notice_a_removed_issue_without_a_newer_one(public_window, author, first):
    gone = publish(author.pk, "gone", letter("A slip"), hold_s=0).edition
    before = {address: public_window.get(address).answer for address in ("/archive/", FEED)}

    cancelled(gone)

    for address, answer in before.items():
        # The page has no `Last-Modified`, because removing an issue would not change this time.
        assert "Last-Modified" not in answer
        page = again(public_window, address, answer)
        assert page.status == 200
        assert "A slip" not in page.html


def test_no_page_of_the_archive_may_run_anything(public_window, first):
    for address in [*everywhere(first), "/archive/no-such-letter/"]:
        page = public_window.get(address)
        policy = page.answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "form-action 'self'" in policy
        assert page.answer["X-Content-Type-Options"] == "nosniff"
        assert "style=" not in page.html
        scripts = re.findall(r"<script([^>]*)>", page.html)
        if address.startswith("/archive/swifts"):
            # The policy names the one file, and data that is not run needs no permission.
            assert policy.endswith("; script-src testserver:*/static/copy.js")
            data = ' type="application/ld+json"'
            assert scripts == [data, ' src="/static/copy.js" defer']
        else:
            assert "script-src" not in policy
            assert not scripts


@pytest.mark.parametrize("origin", ["https://testserver", "https://elsewhere.example", "null", ""])
def test_a_letter_has_a_sign_up_form_that_caches_keep(public_window, first, origin):
    first_visit, second_visit = (
        public_window.get("/archive/swifts/"),
        public_window.get("/archive/swifts/"),
    )
    assert first_visit.answer["ETag"] == second_visit.answer["ETag"]
    form = first_visit.form_with("email")
    assert "csrfmiddlewaretoken" not in form.fields
    visitor = Client(enforce_csrf_checks=True)

    fields = form.fields | {"email": "dora@posthouse.example", "name": "Dora"}
    headers = {"Origin": origin} if origin else {}
    answer = Page(visitor.post(form.action, fields, secure=True, headers=headers))

    assert answer.status == 200
    if origin == "https://testserver":
        assert "Check your inbox" in answer.words
        assert Subscriber.objects.get(name="Dora").state == "pending"
        assert str(consent_wording.SIGN_UP) in first_visit.words
    else:
        # A post from another origin is not accepted. The answer is our own form, with the fields
        # filled.
        ours = answer.form_with("email")
        assert (ours.fields["email"], ours.action) == ("dora@posthouse.example", "/subscriptions/")
        assert not Subscriber.objects.filter(name="Dora").exists()


@pytest.mark.parametrize("damaged", ["swifts/)", "swifts)", "swifts//", "Swifts/>", "swifts&gt;/"])
def test_a_damaged_address_leads_to_its_letter(client, first, damaged):
    for start in ("/archive/", "//archive/", "/archive//", "/ARCHIVE/"):
        answer = client.get("/", PATH_INFO=f"{start}{damaged}", secure=True)
        assert (answer.status_code, answer.headers["Location"]) == (302, "/archive/swifts/")
        assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.parametrize("address", ["a.b/", "2026/11/swifts/", "über/"])
def test_an_unknown_address_gets_a_styled_404(public_window, first, address):
    Newsletter.objects.update(name="The Hedgerow Almanack")

    page = public_window.get(f"/archive/{address}")

    assert page.status == 404
    assert "The Hedgerow Almanack" in page.words
    assert "/archive/swifts/" in page.html
    assert dict(META.findall(page.html))["robots"] == "noindex"
    # Caches must not keep this 404 page: a mail can arrive shortly before its page is public.
    assert "no-store" in page.answer["Cache-Control"]


def test_a_letter_has_metadata_for_link_previews(public_window, first):
    assert public_window.get("/archive/swifts").answer["Location"] == "/archive/swifts/"
    page = public_window.get("/archive/swifts/")
    assert '<link rel="alternate" type="application/atom+xml"' in page.html
    meta = {name: unescape(value) for name, value in META.findall(page.html)}

    summary = "They are “gone” between one evening & the next."
    assert f'<link rel="canonical" href="{first.archive_url}">' in page.html
    assert meta["description"] == meta["og:description"] == summary
    assert meta["og:title"] == "Swifts"
    assert meta["og:type"] == "article"
    assert meta["og:url"] == first.archive_url
    assert meta["og:image"] == f"{SITE}/static/swifts.png"
    assert meta["og:site_name"] == Newsletter.objects.get().name
    assert meta["author"] == "Edith Marlow"
    assert "article:modified_time" not in meta
    assert "robots" not in meta


def test_every_public_page_has_a_description(public_window, author, first):
    Newsletter.objects.update(name="Hedgerow", tagline="", sign_up_text="")
    picture = letter("Picture", '<img src="https://x.org/a.png">', "")
    publish(author.pk, "k", picture, hold_s=0)
    for address in ("/", "/archive/", "/archive/picture/"):
        meta = dict(META.findall(public_window.get(address).html))
        expected = "Hedgerow: read the letters here, or get the next one by email."
        assert meta["description"] == meta["og:description"] == expected
    assert "gone" in dict(META.findall(public_window.get("/archive/swifts/").html))["description"]


def test_user_names_are_not_public(public_window, author, first):
    type(author).objects.filter(pk=author.pk).update(
        username="e.marlow.1789", first_name="", last_name=""
    )

    for address in ("/archive/swifts/", "/archive/feed.xml", "/archive/", "/"):
        page = public_window.get(address)
        assert page.status == 200
        assert "e.marlow.1789" not in page.html
    assert 'name="author"' not in public_window.get("/archive/swifts/").html


@pytest.mark.parametrize(
    ("pictures", "address"),
    [
        ('<img src="https://example.org/a.png?b&amp;c">', "https://example.org/a.png?b&c"),
        ('<img src="/static/a.png">', "/static/a.png"),
        ('<img src="https://spy.example/1.gif" width="1" height="1">', None),
        ('<img src="/dot.gif" height=0><img src="/a.png" width="600">', "/a.png"),
        ('<img src="data:image/png;base64,AAAA"><img src="//example.org/a.png">', None),
        ("<p>none</p>", None),
    ],
)
def test_the_preview_image_is_the_first_visible_one(pictures, address):
    found = first_image(sanitise_html(pictures))
    assert (found and found.address) == address


def test_many_letters_are_on_two_pages_with_links_between(public_window, author):
    for number in range(52):
        publish(author.pk, f"k{number}", letter(f"Letter {number}."), hold_s=0)

    newest, oldest = public_window.get("/archive/"), public_window.get("/archive/?page=2")

    assert newest.html.count("<li>") == 50
    assert oldest.html.count("<li>") == 2
    assert "Letter 51." in newest.words
    assert "Letter 0." in oldest.words
    assert '<a href="?page=2" rel="next">Older letters</a>' in newest.html
    assert '<a href="?page=1" rel="prev">Newer letters</a>' in oldest.html
    assert f'<link rel="canonical" href="{SITE}/archive/">' in newest.html
    assert f'<link rel="canonical" href="{SITE}/archive/?page=2">' in oldest.html
    for odd in ("0", "-1", "x", "999999999999", "%00"):
        assert public_window.get(f"/archive/?page={odd}").status == 200


def test_the_feed_holds_whole_letters_and_is_valid_atom(public_window, author, first):
    Newsletter.objects.update(name="Hedgerow", language="pt-PT")
    harmful = letter("Second", html="<p>Hello<script>alert(1)</script></p>")
    second = publish(author.pk, "second", harmful, hold_s=0).edition

    page = public_window.get(FEED)
    feed = ElementTree.fromstring(page.html)  # noqa: S314 -- our own feed
    newest, entry = entries = feed.findall(f"{ATOM}entry")

    assert page.answer["Content-Type"].startswith("application/atom+xml")
    assert feed.get(f"{XML}lang") == "pt-PT"
    assert feed.find(f"{ATOM}id").text == f"{SITE}/archive/"
    assert feed.find(f"{ATOM}author/{ATOM}name").text == "Hedgerow"
    assert feed.find(f"{ATOM}link[@rel='self']").get("href") == f"{SITE}{FEED}"
    links = [each.find(f"{ATOM}link").get("href") for each in entries]
    assert links == [second.archive_url, first.archive_url]
    assert len({each.find(f"{ATOM}id").text for each in entries}) == 2
    assert newest.find(f"{ATOM}content").text == "<p>Hello</p>"
    assert entry.find(f"{ATOM}author/{ATOM}name").text == "Edith Marlow"
    content = entry.find(f"{ATOM}content")
    assert content.get("type") == "html"
    assert content.get(f"{XML}base") == first.archive_url
    # Addresses are absolute, because many feed readers ignore `xml:base`.
    assert f'src="{SITE}/static/swifts.png"' in content.text
    anchor = re.search('id="([^"]*)"', content.text)[1]
    assert f'href="{first.archive_url}#{anchor}"' in content.text
    assert f'id="{anchor}"' in public_window.get("/archive/swifts/").html
    assert entry.find(f"{ATOM}summary").text.startswith("They are “gone”")

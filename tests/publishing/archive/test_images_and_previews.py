"""Images in lists and letters, and the previews that other sites show of a letter."""

import io
import json
import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from PIL import Image

from delivery.models import Edition, Newsletter
from publishing.archive.archive_pages import reply_link
from publishing.archive.archived_editions import (
    BEGINNING,
    latest_issues,
    listed_editions,
    neighbours,
)
from publishing.archive.link_preview import locale_of
from publishing.images.store_image import address_of, small_address_of, store_image
from publishing.models import UploadedImage
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.publish_with import publish

pytestmark = pytest.mark.django_db(transaction=True)

SITE = "https://letter.example.org"
FEED = "/archive/feed.xml"
ATOM = "{http://www.w3.org/2005/Atom}"
META = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)">')
LD_JSON = re.compile(r'<script type="application/ld\+json">(.*?)</script>', re.DOTALL)


def stored(size: tuple[int, int] = (1200, 800), kind: str = "PNG") -> UploadedImage:
    """Store a new image of this size."""
    file = io.BytesIO()
    Image.new("RGB", size, (random.randrange(256), 60, 200)).save(file, kind)
    return store_image(file.getvalue(), "lane.png", by=None)


def shown(image: UploadedImage, more: str = "") -> str:
    return f'<p><img src="{address_of(image)}" alt="The &lt;lane&gt;"{more}></p>'


def image_tags(html: str) -> list[str]:
    return re.findall(r"<img [^>]*>", html)


def test_lists_show_the_first_image_and_letters_fit_theirs(
    public_window: WindowOf, author: Any
) -> None:
    first, second = stored(), stored((300, 200))
    body = shown(first) + shown(second, ' width="150"') + shown(second, ' width="50%"')
    publish(author.pk, "k1", letter("Older", shown(first)), hold_s=0)
    publish(author.pk, "k2", letter("Newest", body), hold_s=0)

    choices = f'srcset="{small_address_of(first.pk)} 720w, {address_of(first)} 1200w"'
    large, row = image_tags(public_window.get("/").html)
    assert f'src="{address_of(first)}"' in large
    assert choices in large
    assert "lazy" not in large
    for small in (row, *image_tags(public_window.get("/archive/").html)):
        assert f'<img src="{small_address_of(first.pk)}" alt="" width="168"' in small
        assert 'loading="lazy"' in small
    at_once, later, percentage = image_tags(public_window.get("/archive/newest/").html)
    assert choices in at_once
    assert 'width="1200" height="800"' in at_once
    assert "lazy" not in at_once
    assert 'width="150" loading="lazy" height="100"' in later
    assert "srcset" not in later
    assert 'width="50%" loading="lazy">' in percentage


def test_a_list_reads_beginnings_and_shows_no_missing_image(
    public_window: WindowOf, author: Any
) -> None:
    kept, gone = stored(), stored((900, 700))
    far = f"<p>{'heron ' * BEGINNING}</p>{shown(kept)}"
    for number, html in enumerate((far, shown(gone), shown(kept), "<p>none</p>")):
        publish(author.pk, f"k{number}", letter(f"Letter {number}", html), hold_s=0)
    gone.delete()

    with CaptureQueriesContext(connection) as queries:
        images = [row["image"] for row in latest_issues(9)]

    assert [image and image.address for image in images] == [None, address_of(kept), None, None]
    assert len(queries) == 2
    chosen = [query["sql"].partition(" FROM ")[0] for query in queries]
    assert '"edition"."html_mail"' not in chosen[0]
    assert '"uploaded_image"."content"' not in chosen[1]


def test_a_small_copy_is_a_webp_that_caches_keep(
    public_window: WindowOf, transactional_db: None
) -> None:
    tall = stored((1000, 4000))

    answer = public_window.get(small_address_of(tall.pk)).answer

    assert Image.open(io.BytesIO(answer.content)).size == (720, 1440)
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("image/webp", "nosniff")
    assert "immutable" in answer["Cache-Control"]
    again = public_window.client.get(
        small_address_of(tall.pk), secure=True, headers={"If-None-Match": answer["ETag"]}
    )
    assert again.status_code == 304
    UploadedImage.objects.update(small_copy=b"")
    assert public_window.get(small_address_of(tall.pk)).status == 404


def test_a_preview_shows_image_else_logo_else_card(public_window: WindowOf, author: Any) -> None:
    image, logo = stored(), stored((400, 100))
    publish(author.pk, "k1", letter("With", shown(image)), hold_s=0)
    publish(author.pk, "k2", letter("Without"), hold_s=0)

    def preview(address: str) -> tuple[str, ...]:
        meta = dict(META.findall(public_window.get(address).html))
        names = ("og:image", "og:image:width", "og:image:height", "og:image:alt", "twitter:card")
        return tuple(meta.get(name, "") for name in names)

    own = (f"{SITE}{address_of(image)}", "1200", "800", "The &lt;lane&gt;", "summary_large_image")
    assert preview("/archive/with/") == own
    name = Newsletter.objects.get().name
    card = (f"{SITE}/static/card.png", "1200", "630", name, "summary_large_image")
    for address in ("/archive/without/", "/", "/archive/", "/subscriptions/"):
        assert preview(address) == card
    Newsletter.objects.update(logo=address_of(logo), logo_width=400, logo_height=100)
    assert preview("/archive/without/") == (
        *(f"{SITE}{address_of(logo)}", "400", "100", name, "summary"),
    )


def test_json_ld_describes_a_letter_and_cannot_be_left(
    public_window: WindowOf, author: Any
) -> None:
    title = "Herons</script><script>alert(1)</script> & <!--"
    Newsletter.objects.update_or_create(pk=1, defaults={"name": "Hedge & Row", "language": "pt-PT"})
    edition = publish(author.pk, "k", letter(title), hold_s=0).edition
    html = public_window.get(edition.archive_url.removeprefix(SITE)).html

    [text] = LD_JSON.findall(html)
    article = json.loads(text)

    assert not set(text) & set("<>&")
    assert article["@type"] == "NewsArticle"
    assert article["headline"] == title
    assert article["author"] == [{"@type": "Person", "name": "Edith Marlow"}]
    assert article["publisher"]["name"] == "Hedge & Row"
    assert article["datePublished"] == article["dateModified"]
    assert article["mainEntityOfPage"] == edition.archive_url
    assert article["image"] == [f"{SITE}/static/card.png"]
    meta = dict(META.findall(html))
    assert (meta["og:locale"], meta["og:url"]) == ("pt_PT", edition.archive_url)


@pytest.mark.parametrize(
    ("language", "locale"), [("en", "en_US"), ("de", "de_DE"), ("en-GB", "en_GB"), ("sv", "")]
)
def test_open_graph_gets_a_locale_with_its_territory(language: str, locale: str) -> None:
    assert locale_of(language) == locale


def test_a_letter_links_its_neighbours_replies_and_address(
    public_window: WindowOf, author: Any
) -> None:
    for number, content in enumerate((letter("One"), letter("Two", f"<p>{'word ' * 700}</p>"))):
        publish(author.pk, f"k{number}", content, hold_s=0)
    publish(author.pk, "k3", letter("Three & <four>"), hold_s=0)

    page = public_window.get("/archive/two/")

    assert "3 minutes to read" in page.words
    assert re.search(r'href="/archive/one/" rel="prev">.*?<bdi>One</bdi>', page.html, re.DOTALL)
    assert re.search(r'rel="next">.*?<bdi>Three &amp; &lt;four&gt;</bdi>', page.html, re.DOTALL)
    assert f'value="{SITE}/archive/two/" readonly' in page.html
    assert "mailto:" not in page.html
    Newsletter.objects.update(reply_to="edith@almanack.example")
    assert 'href="mailto:edith@almanack.example?subject=Re%3A%20Two"' in (
        public_window.get("/archive/two/").html
    )
    own = replace(letter("Own"), reply_to="desk@almanack.example")
    publish(author.pk, "k4", own, hold_s=0)
    assert 'href="mailto:desk@almanack.example?' in public_window.get("/archive/own/").html


def test_letters_of_one_moment_are_neighbours(author: Any) -> None:
    for title in ("One", "Two", "Three"):
        publish(author.pk, title, letter(title), hold_s=0)
    # Letters that were imported may all have the same day.
    Edition.objects.update(published_at=datetime(2020, 1, 2, tzinfo=UTC))
    three, two, one = listed_editions()
    assert neighbours(two) == (one, three)


def test_a_reply_link_escapes_address_and_title() -> None:
    link = reply_link("a&b?cc=x@almanack.example", "50 % & more?body=“x”")

    address, _, subject = link.removeprefix("mailto:").partition("?subject=")
    assert unquote(address) == "a&b?cc=x@almanack.example"
    assert unquote(subject) == "Re: 50 % & more?body=“x”"
    assert not set("&?=\"' ") & set(address + subject)
    assert reply_link("", "Title") == ""


def test_the_feed_has_summaries_only_if_the_author_chose_so(
    public_window: WindowOf, author: Any
) -> None:
    publish(author.pk, "k", letter("Swifts", f"<p>{'They are gone. ' * 60}</p>"), hold_s=0)
    Newsletter.objects.update(feed_has_full_text=False)

    [entry] = ElementTree.fromstring(  # noqa: S314 -- our own feed
        public_window.get(FEED).html
    ).findall(f"{ATOM}entry")

    assert entry.find(f"{ATOM}content") is None
    assert entry.find(f"{ATOM}summary").text.startswith("They are gone.")
    assert entry.find(f"{ATOM}link[@rel='alternate']").get("href") == f"{SITE}/archive/swifts/"


def test_public_pages_are_compressed_and_still_revalidate(
    public_window: WindowOf, author: Any
) -> None:
    publish(author.pk, "k", letter("Swifts", "<p>They are gone.</p>" * 99), hold_s=0)
    for address in ("/", "/archive/", "/archive/swifts/", FEED):
        answer = public_window.client.get(address, secure=True, headers={"Accept-Encoding": "gzip"})
        assert answer["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in answer["Vary"]
    again = public_window.client.get(
        FEED, secure=True, headers={"Accept-Encoding": "gzip", "If-None-Match": answer["ETag"]}
    )
    assert again.status_code == 304

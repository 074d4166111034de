"""The newsletter's look can be previewed, and then saved with a logo."""

import html
import io
import re
from urllib.parse import urlencode

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from delivery.mail.colours_and_typefaces import accent_for
from delivery.models import Newsletter
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.content.compose_content import compose_content
from publishing.images.unused_images import delete_unused
from publishing.models import Draft, UploadedImage
from publishing.publish.publish_edition import publish
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/admin/newsletters/settings/look/"
LOOK = {"accent": "#C2410C", "typeface": "magazine", "layout": "picture", "header": "logo"}


@pytest.fixture
def window(new_author):
    """Return the window of an author who may only change the newsletter."""
    return WindowOf(new_author("ola", "change_newsletter"))


def png(width=300, height=60):
    file = io.BytesIO()
    Image.new("RGBA", (width, height), (0, 80, 90, 128)).save(file, "PNG")
    return SimpleUploadedFile("logo.png", file.getvalue(), "image/png")


def test_look_and_logo_are_saved_logged_and_used(window):
    assert window.post(PAGE, **LOOK, logo=png()).status == 303

    newsletter = Newsletter.objects.get()
    assert (newsletter.accent, newsletter.layout) == ("#c2410c", "picture")
    assert (newsletter.logo_width, newsletter.logo_height) == (300, 60)
    assert window.get(newsletter.logo).status == 200
    (entry,) = LogEntry.objects.all()
    assert plain_sentence_of(entry).endswith("Accent colour, Typeface, Layout, Header, Logo.")
    mail = " ".join(compose_content(letter()).html.split())
    assert f'{newsletter.logo}" alt="The Homing Letter" width="200"' in mail

    window.post(PAGE, **LOOK, dark_logo=png(100))
    dark = Newsletter.objects.get().dark_logo
    assert dark not in ("", newsletter.logo)
    assert f'{dark}" alt="The Homing Letter" width="100"' in " ".join(
        compose_content(letter()).html.split()
    )

    window.post(PAGE, **LOOK, remove_logo="on")
    assert (Newsletter.objects.get().logo, Newsletter.objects.get().dark_logo) == ("", dark)
    window.post(PAGE, **LOOK, remove_dark_logo="on")
    assert Newsletter.objects.get().dark_logo == ""


def test_first_logo_is_shown_in_the_header_until_changed(window):
    name_only = {**LOOK, "header": "name"}
    for logo, header in ((png(), "both"), (png(200), "name")):
        window.post(PAGE, **name_only, logo=logo)
        assert Newsletter.objects.get().header == header


def test_logos_that_cannot_be_drawn_count_as_uploads(window, settings):
    settings.PICTURES_PER_HOUR = 1
    drawing = SimpleUploadedFile("logo.svg", b"<svg/>", "image/svg+xml")
    assert "outside the namespace of SVG" in window.post(PAGE, **LOOK, logo=drawing).words
    drawing.seek(0)
    assert "limit of 1 upload an hour" in window.post(PAGE, **LOOK, logo=drawing).words


def test_current_and_published_logos_are_never_deleted_as_unused(window, author):
    window.post(PAGE, **LOOK, logo=png(100))
    publish(author.pk, "k", letter(), hold_s=0)
    window.post(PAGE, **LOOK, logo=png(200), dark_logo=png(500))
    window.post(PAGE, **LOOK, logo=png(300))
    window.post(PAGE, **LOOK, logo=png(400))
    for _ in range(2):
        list(delete_unused(0))
    assert sorted(UploadedImage.objects.values_list("width", flat=True)) == [100, 400, 500]


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (b"GIF89a", "A logo is a PNG or an SVG file."),
        (b"\x89PNG\r\n\x1a\n", "Mail cannot show this file as an image."),
        (b"<html>", "outside the namespace of SVG."),
    ],
)
def test_other_files_are_refused_and_the_choices_stay(window, file, sentence):
    page = window.post(PAGE, **LOOK, logo=SimpleUploadedFile("logo.png", file, "image/png"))
    assert sentence in page.words
    assert 'value="#C2410C"' in page.source
    assert Newsletter.objects.get().accent != "#c2410c"


def test_wrong_colour_is_named_and_short_one_is_completed(window):
    page = window.post(PAGE, **{**LOOK, "accent": "reddish"})
    assert page.status == 422
    assert "“reddish” is no colour." in page.words
    window.post(PAGE, **{**LOOK, "accent": "0AF"})
    assert Newsletter.objects.get().accent == "#00aaff"


def test_preview_shows_the_posted_look_and_saves_nothing(window):
    yellow = {**LOOK, "accent": "#ffee00", "shows": "letter"}
    page = window.post(PAGE, **yellow, then="preview")
    accent = accent_for("#ffee00")
    assert f"{accent.light} on light paper, made darker" in page.words
    assert "#ffee00 on dark paper, as chosen" in page.words
    frame = window.get(
        page.source.split("<iframe")[1].split('src="')[1].split('"')[0].replace("&amp;", "&")
    )
    assert accent.light in frame.source
    assert "A sample letter" in frame.words
    assert "'unsafe-inline'; img-src" in frame.answer["Content-Security-Policy"]
    assert "sandbox" in frame.answer["Content-Security-Policy"]
    public = window.get(
        f"{PAGE}preview/?{'&'.join(f'{k}={v}' for k, v in LOOK.items())}&shows=page".replace(
            "#", "%23"
        )
    )
    assert "--sent: #c2410c" in public.source
    assert "Subscribe" in public.words
    assert Newsletter.objects.get().accent == "#0f5a6e"


def test_preview_of_chosen_logos_has_placeholders_of_their_size(window):
    Newsletter.objects.get_current()
    choice = {**LOOK, "header": "name", "new_logo": "300x60", "new_dark_logo": "100x10"}
    page = window.post(PAGE, **choice, then="preview")
    [address] = re.findall(r'<iframe[^>]* src="([^"]*)"', page.html)
    for shows in ("letter", "page"):
        frame = window.get(f"{html.unescape(address)}&shows={shows}").html
        assert re.search(r'src="data:,logo"[^>]* width="200"\s+height="40"', frame)
        assert re.search(r'="data:,dark_logo"[^>]* width="100"\s+height="10"', frame)
    assert not UploadedImage.objects.exists()
    assert (
        "data:" not in window.get(f"{PAGE}preview/?{urlencode(LOOK)}&new_logo=0x9&shows=page").html
    )


def test_removed_logo_is_missing_in_the_preview(window):
    window.post(PAGE, **LOOK, logo=png())
    logo = Newsletter.objects.get().logo
    for choice, is_shown in (({}, True), ({"remove_logo": "on"}, False)):
        frame = window.get(f"{PAGE}preview/?{urlencode({**LOOK, **choice})}").source
        assert (logo in frame) == is_shown


def test_only_authors_who_may_write_see_a_draft(window, new_author):
    writer = new_author("wim", "change_newsletter", "write_draft")
    drafts = {"title": "Plans", "letter": "Under wraps", "created_by": writer, "saved_by": writer}
    Draft.objects.create(**drafts)
    shown = WindowOf(writer).get(f"{PAGE}preview/").words
    assert "Under wraps" in shown
    assert "Under wraps" not in window.get(f"{PAGE}preview/").words


def test_preview_of_a_wrong_look_shows_the_stored_one(window):
    assert "#0f5a6e" in window.get(f"{PAGE}preview/?accent=%3Cscript%3E&typeface=x").source

"""The newsletter's settings are saved, logged, and used by mails and pages."""

import re

import pytest
from django.contrib.admin.models import LogEntry

from delivery.mail.transactional_mail_texts import newsletter_values
from delivery.models import Newsletter
from publishing.activity.activity_sentences import plain_sentence_of
from publishing.content.compose_content import compose_content
from publishing.settings.change_settings import change_settings
from publishing.settings.own_sites import read_origin
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter

pytestmark = pytest.mark.django_db(transaction=True)

SETTINGS = "/admin/newsletters/settings/"
PAGE = f"{SETTINGS}newsletter/"


def stored(**values):
    return Newsletter.objects.update_or_create(pk=1, defaults=values)[0]


def test_changed_settings_are_saved_shown_and_logged(window):
    form = window.get(PAGE).form_with("tagline").fields
    changes = {"name": "The Hedgerow", "language": "pl", "time_zone": "Europe/Lisbon"}
    words = "Hedgerow <Ltd>\r\nRegistered in Selborne "

    assert window.post(PAGE, **{**form, **changes, "footer": words}).status == 303

    newsletter = Newsletter.objects.get()
    assert {name: getattr(newsletter, name) for name in changes} == changes
    assert newsletter.footer == "Hedgerow <Ltd>\nRegistered in Selborne"
    shown = window.get(SETTINGS).words
    assert "The Hedgerow" in shown
    assert "Language Polski" in shown
    assert "Tags" not in shown  # only managers of readers see the tags
    (entry,) = LogEntry.objects.all()
    assert plain_sentence_of(entry).endswith(
        "changed the settings of The Hedgerow: Name, Time zone, Language, Footer."
    )


def test_the_feed_has_full_text_until_the_author_says_otherwise(window):
    form = window.get(PAGE).form_with("tagline").fields
    assert form.pop("feed_has_full_text") == "on"
    assert window.post(PAGE, **form).status == 303
    assert not Newsletter.objects.get().feed_has_full_text


def test_the_reply_address_is_read_like_a_readers(window):
    form = window.get(PAGE).form_with("tagline").fields
    refused = window.post(PAGE, **{**form, "reply_to": "ada@exam\u00adple.org"})
    assert "The address contains invisible characters (U+00AD)." in refused.words
    assert window.post(PAGE, **{**form, "reply_to": "\u2068ada@MÜLLER.example\u2069"}).status == 303
    assert Newsletter.objects.get().reply_to == "ada@xn--mller-kva.example"
    assert window.post(PAGE, **{**form, "reply_to": ""}).status == 303
    assert Newsletter.objects.get().reply_to == ""


def test_links_about_and_imprint_are_stored_as_written(window):
    form = window.get(PAGE).form_with("tagline").fields
    typed = " Mastodon   https://social.example/@ada \r\n\r\nHTTPS://Ada.example"
    about = "Hello  \r\nAda\r\n"

    written = {"own_links": typed, "about": about, "imprint": "1 Quay", "time_zone": "new york"}
    assert window.post(PAGE, **{**form, **written}).status == 303

    newsletter = Newsletter.objects.get()
    assert newsletter.own_links == (
        "Mastodon https://social.example/@ada\nada.example HTTPS://Ada.example"
    )
    assert (newsletter.about, newsletter.time_zone) == ("Hello  \nAda", "America/New_York")
    shown = window.get(SETTINGS).words
    assert "About page /about/ Imprint /imprint/" in shown


def test_local_time_of_a_zone_is_shown_while_typing(window):
    stored(time_zone="Europe/Lisbon")
    assert re.search(r"It is .* \d\d:\d\d now in Europe/Lisbon\.", window.get(PAGE).words)
    ask = f"{PAGE}zone/?time_zone="
    assert "now in Asia/Tokyo." in window.get(f"{ask}tokyo").words
    assert "“&lt;b&gt;” is not a time zone." in window.get(f"{ask}<b>").source


def test_own_sites_are_stored_as_browsers_send_them(window):
    form = window.get(PAGE).form_with("tagline").fields
    typed = "https://Ada.example/blog/?a=b\r\n\r\nhttps://ada.example:443\r\nhttp://localhost:3000"

    assert window.post(PAGE, **{**form, "own_sites": typed}).status == 303

    assert Newsletter.objects.get().own_sites == "https://ada.example\nhttp://localhost:3000"
    assert "Your own sites https://ada.example http://localhost:3000" in window.get(SETTINGS).words


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://tides.example:8443/a", "https://tides.example:8443"),
        ("https://möwe.example", "https://xn--mwe-sna.example"),
        ("https://straße.example", "https://xn--strae-oqa.example"),
        ("https://ΒΌΛΟΣ.example", ""),
        ("https://a\u200db.example", ""),
        ("https://[v1.a]", ""),
        (f"https://a.example/{'x' * 300}", ""),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("http://tides.example", ""),
        ("tides.example", ""),
        ("null", ""),
        ("https://", ""),
        ("https://*.tides.example", ""),
        ("https://a@tides.example", ""),
        ("https://tides.example:port", ""),
        ("https://[::1", ""),
    ],
)
def test_only_a_safe_address_has_an_origin(address, origin):
    assert read_origin(address) == origin


def test_saving_without_changes_keeps_values_and_log(window):
    stored(language="en-GB", time_zone="Etc/GMT-1")

    window.post(PAGE, **window.get(PAGE).form_with("tagline").fields)

    newsletter = Newsletter.objects.get()
    assert (newsletter.language, newsletter.time_zone) == ("en-GB", "Etc/GMT-1")
    assert not LogEntry.objects.exists()


def test_two_pages_keep_each_others_changes(operator):
    change_settings({"name": "Tides", "accent": "#102030"}, operator.pk)

    changed = change_settings({"name": "Tides", "tagline": "Twice a day"}, operator.pk)

    assert changed == ["tagline"]
    assert Newsletter.objects.get().accent == "#102030"


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("time_zone", "Lisbonn", "“Lisbonn” is not a time zone. Did you mean Europe/Lisbon?"),
        ("footer", "Hello {\\{ name }}", "The text contains {{"),
        ("name", "\u200b", "This field cannot be blank."),
        ("tagline", "Hello {{ name }}", "The text contains {{"),
        ("about", "Hello {{ name }}", "The text contains {{"),
        ("own_links", "Ada http://a.example", "“Ada http://a.example” has no https address"),
        ("own_links", "https://a.example Ada", "has no https address at its end"),
        ("own_links", "\n".join(f"https://{n}.example" for n in range(9)), "At most 8 links"),
        ("sign_up_text", "a\x07b", "control characters"),
        ("footer", "x" * 501, "at most 500 characters"),
        ("own_sites", "https://a.example\nb", "“b” is not an https address"),
        ("own_sites", "http://a.example\nc", "“c” is not an https address"),
        ("own_sites", "\n".join(f"https://{n}.example" for n in range(11)), "At most 10 sites"),
    ],
)
def test_a_bad_setting_is_refused_with_a_reason(window, field, value, error):
    form = window.get(PAGE).form_with("tagline").fields

    page = window.post(PAGE, **{**form, "name": "Changed", field: value})

    assert error in page.words
    assert "Changed" not in page.html.split("<main")[0]
    assert not Newsletter.objects.get().is_named


def test_the_footer_ends_letters_and_mails_on_request():
    footer = "A & B\nVAT 7\n\n**By** [Ada](https://a.example)"
    words = stored(name="Tides", postal_address="1 Quay", footer=footer)

    mail = compose_content(letter("Low tide"))

    assert "A &amp; B<br>VAT 7</p>" in mail.html
    link = '<a href="https://a.example" class="quiet" style="color:#55626a;">Ada</a>'
    assert f"<strong>By</strong> {link}</p>" in mail.html
    assert "--\nA & B\nVAT 7\n\nBy Ada (https://a.example)\n" in mail.text
    imprint = "Tides · 1 Quay · A & B · VAT 7 · By Ada (https://a.example)"
    assert newsletter_values(words)["imprint"] == imprint


@pytest.mark.parametrize("path", ["/", "/subscriptions/"])
def test_the_sign_up_page_says_what_readers_get(path):
    stored(name="Tides", sign_up_text="Weekly & short.\n<b>Free</b>")

    page = WindowOf(None).get(path).source

    assert '<meta property="og:title" content="Tides">' in page
    assert (
        '<meta name="description" content="Weekly &amp; short.\n&lt;b&gt;Free&lt;/b&gt;">' in page
    )
    assert "Weekly &amp; short.<br>&lt;b&gt;Free&lt;/b&gt;" in page
    assert page.index("<br>&lt;b&gt;") < page.index("joinh")

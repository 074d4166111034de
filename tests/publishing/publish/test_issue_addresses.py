"""The address of an issue comes from a title in any script, or from its author."""

import unicodedata
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command

from delivery.models import Edition, Newsletter
from publishing.actions.edition_actions import perform
from publishing.approval.record_approval import approval_hash
from publishing.editions.issue_address import exact_address, save_moved_issue
from publishing.editions.slug_from_title import address_words, is_address
from publishing.editions.versions import VersionRefusedError
from publishing.models import Draft, Issue, Visibility
from publishing.publish.publish_edition import KeyUsedForOtherContentError
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import FORM, Page, WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.publish_with import publish
from tests.publishing.schedule_issue import status


@pytest.mark.parametrize(
    ("title", "language", "address"),
    [
        ("Grüße aus Köln", "de", "gruesse-aus-koeln"),
        ("Grüße aus Köln", "fr", "grusse-aus-koln"),
        ("Łódź & Ærø: don’t/stop", "en", "lodz-aero-dont-stop"),
        ("Привет, мир! Ёлка", "en", "привет-мир-ёлка"),
        ("ΟΙ ΛΟΓΟΙ ΤΟΥΣ", "en", "οι-λογοι-τους"),
        ("שלום עולם", "he", "שלום-עולם"),
        ("مرحبا بالعالم", "ar", "مرحبا-بالعالم"),
        ("你好，世界", "en", "你好-世界"),
        ("東京の夜。カフェ", "en", "東京の夜-カフェ"),
        ("हिन्दी समाचार", "en", "हिन्दी-समाचार"),
        ("🎉🎂", "en", "party-popper-birthday-cake"),
        ("\u202ea\u200bb\u2066\ufeffc\u00ad\u3164", "en", "abc"),
        ("شكرا\ufe0f\u061c", "ar", "شكرا"),
        ("feed.xml", "en", "feed-xml"),
        ("../..", "en", ""),
        ("a" * 70, "en", "a" * 60),
        ("漢" * 70, "en", "漢" * 33),
    ],
)
def test_a_title_in_any_script_gives_a_readable_address(title, language, address):
    found = address_words(title, language)
    assert found == address
    assert found == address_words(found, language)
    assert is_address(found) == bool(found)
    assert len(quote(found)) <= 300


@pytest.mark.parametrize("text", ["a b", "a.b", "a\u202eb", "a\u3164", "a\x00", "%", "a/b", ""])
def test_other_signs_are_no_address(text):
    assert not is_address(text)


def test_readers_and_feeds_open_an_address_in_another_script(author, window, client):
    Newsletter.objects.update(language="ar")
    edition = publish(author.pk, "k", letter("مرحبا بالعالم"), hold_s=0, goes_to="nobody").edition
    slug = "مرحبا-بالعالم"
    assert edition.issue.slug == slug
    assert edition.archive_url.endswith(f"/archive/{quote(slug)}/")
    assert edition.archive_url.isascii()
    assert client.get(f"/archive/{quote(slug)}/", secure=True).status_code == 200
    assert edition.archive_url in client.get("/archive/feed.xml", secure=True).text
    assert quote(slug) in client.get("/archive/", secure=True).text
    cafe = publish(author.pk, "k2", letter("Й"), hold_s=0, goes_to="nobody").edition
    decomposed = quote(unicodedata.normalize("NFD", cafe.issue.slug))
    assert client.get(f"/archive/{decomposed}/", secure=True).status_code == 200
    for hostile in ("a%00", "%E2%80%AEa", "a.b", "%FF"):
        assert client.get(f"/archive/{hostile}/", secure=True).status_code == 404


@pytest.fixture
def draft(author):
    return Draft.objects.create(
        title="Swifts", letter="Gone.", goes_to="nobody", created_by=author, saved_by=author
    )


def press(window: WindowOf, draft: Draft, address: str) -> Page:
    place = f"{FORM}drafts/{draft.pk}/"
    page = Page(window.client.post(f"{place}address/", {"address": address}, secure=True))
    draft.refresh_from_db()
    return page if page.status == 200 else window.get(f"{place}check/")


def choose(window: WindowOf, draft: Draft, address: str) -> str:
    return press(window, draft, address).words


def publish_by_page(window: WindowOf, draft: Draft) -> Any:
    form = window.get(f"{FORM}drafts/{draft.pk}/publish/").form_with("revision")
    return window.post(form.action, **form.fields)


def test_an_author_chooses_the_address_before_publication(author, window, draft):
    assert "/archive/ swifts /" in window.get(f"{FORM}drafts/{draft.pk}/check/").words
    before = approval_hash(draft)
    assert "The address is now “мир”." in choose(window, draft, "%D0%BC%D0%B8%D1%80")
    assert "The address is now “welcome-back”." in choose(window, draft, "Welcome back!")
    assert (draft.address, draft.revision) == ("welcome-back", 1)
    assert approval_hash(draft) != before
    assert "needs letters or digits" in choose(window, draft, "…")
    assert "at most 80 characters" in choose(window, draft, "a" * 81)
    assert draft.address == "welcome-back"

    assert publish_by_page(window, draft).status == 303
    edition = Edition.objects.get()
    assert edition.issue.slug == "welcome-back"
    assert edition.archive_url.endswith("/archive/welcome-back/")
    # Copies link to the address now, so the next version keeps it.
    later = Draft.objects.create(
        title="Martins", letter="Gone.", issue=edition.issue, created_by=author, saved_by=author
    )
    assert "fixed, because copies link to it" in choose(window, later, "other")
    assert later.address == ""


def test_a_taken_address_is_refused_with_a_sentence(author, window, draft):
    publish(author.pk, "k", letter("Swallows"), hold_s=0, goes_to="nobody")
    sentence = "The address “swallows” belongs to another issue."
    assert sentence in choose(window, draft, "swallows")
    assert draft.address == ""
    for typed, reason in (("Swallows!", sentence), ("…<", "needs letters or digits")):
        sheet = press(window, draft, typed)
        assert sheet.form_with("address").fields["address"] == typed
        error = sheet.html.partition('id="id_address_error"')[2].partition("</p>")[0]
        assert reason in error
        assert "Nothing was published." not in sheet.words
    # Another issue took the address after the author chose it.
    Draft.objects.update(address="swallows")
    draft.refresh_from_db()
    assert sentence in window.get(f"{FORM}drafts/{draft.pk}/publish/").words
    with pytest.raises(VersionRefusedError, match=sentence):
        publish(author.pk, draft.key, letter(), hold_s=0, draft=draft, address="swallows")
    assert not Issue.objects.filter(title__startswith="Swifts").exists()


def test_a_called_back_issue_keeps_a_chosen_address(author, window, draft, three_readers, settings):
    settings.PUBLISH_HOLD_S = 60
    Draft.objects.update(goes_to="everyone")
    choose(window, draft, "mine")
    publish_by_page(window, draft)
    edition = Edition.objects.get()
    perform("call-back", edition, status(edition), record=lambda _: None)
    again = Draft.objects.get(edition=None)
    assert again.address == "mine"
    assert "The address follows the title again." in choose(window, again, "")
    Draft.objects.filter(pk=again.pk).update(title="Renamed", revision=2)
    publish_by_page(window, again)
    edition.issue.refresh_from_db()
    assert edition.issue.slug == "renamed"


NO_ADDRESS = [
    ("Welcome back!", "“Welcome back!” is not an address. Use “welcome-back”."),
    ("…", "needs letters or digits"),
    ("", "needs letters or digits"),
    ("a" * 81, "at most 80 characters"),
]


@pytest.mark.parametrize(("address", "sentence"), NO_ADDRESS)
@pytest.mark.django_db(transaction=True)
def test_a_script_or_program_names_an_exact_address(author, address, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command(
            "publish", "--title", "Tides", "--text-file", "README.md", "--address", address
        )
    answer = Program(author).post("/issues/", {"title": "T", "text": "T", "address": address})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "address")
    assert sentence in answer.json()["detail"]
    assert not Edition.objects.exists()


def test_an_address_of_another_issue_is_not_suggested(author):
    tides = publish(author.pk, "k", letter("Tides"), hold_s=0, goes_to="nobody").edition.issue
    with pytest.raises(ValueError, match="“Tides!” is not an address, and “tides” belongs to"):
        exact_address("Tides!", None)
    with pytest.raises(ValueError, match="Use “tides”"):
        exact_address("Tides!", tides.pk)


@pytest.mark.django_db(transaction=True)
def test_a_script_chooses_the_address_until_copies_lead_to_it(author, three_readers, capsys):
    def script(*options: object) -> str:
        words = ("--title", "Привет", "--text-file", "README.md", "--author", "edith")
        call_command("publish", *words, *map(str, options))
        return Edition.objects.latest("pk").issue.slug

    assert script() == "привет"
    assert script("--address", "мир_2", "--hold", 60) == "мир_2"
    with pytest.raises(CommandError, match=r"“мир_2” belongs to another issue\. Choose another"):
        script("--address", "мир_2")
    next_version = ("--issue", Edition.objects.latest("pk").issue_id, "--version", 2)
    with pytest.raises(CommandError, match=r"this issue is “мир_2”\. It stays"):
        script(*next_version, "--address", "world")
    assert script(*next_version, "--address", "мир_2") == "мир_2"
    capsys.readouterr()
    assert script(*next_version, "--address", "world") == "мир_2"  # version 2 exists already
    assert (
        f"Its address is https://letter.example.org/archive/{quote('мир_2')}/."
        in capsys.readouterr().err
    )


@pytest.mark.django_db(transaction=True)
def test_a_program_chooses_the_address_until_copies_lead_to_it(author, three_readers):
    program = Program(author)
    words = {"title": "Swifts", "text": "Gone.", "hold_s": 60}
    first = program.post("/issues/", {**words, "address": "мир"}, key="k")
    assert first.status_code == 201
    taken = program.post("/issues/", {**words, "address": "мир"})
    assert (taken.status_code, "belongs to another" in taken.json()["detail"]) == (409, True)
    versions = f"/issues/{first.json()['issue']}/versions/"
    second = {**words, "version": 2, "goes_to": "nobody"}
    late = program.post(versions, {**second, "address": "world"})
    assert (late.status_code, "It stays" in late.json()["detail"]) == (409, True)
    program.post(f"/issues/{first.json()['issue']}/call-back/?version=1")
    assert program.post(versions, {**second, "address": "world"}).status_code == 201
    assert program.post(versions, {**second, "address": "world"}).status_code == 200
    assert program.post(versions, {**second, "address": "other"}).status_code == 422
    assert Edition.objects.latest("pk").issue.slug == "world"


@pytest.mark.django_db(transaction=True)
def test_a_repeated_key_is_bound_to_the_address(author):
    def again(address: str) -> bool:
        return publish(author.pk, "k", letter(), hold_s=0, address=address).created

    assert again("mine")
    assert not again("mine")
    assert not again("")
    with pytest.raises(KeyUsedForOtherContentError, match=r"Its address is .*/archive/mine/"):
        again("other")


def test_a_choice_made_too_late_stops_no_draft(author, window, draft):
    Draft.objects.update(address="mine")
    publish_by_page(window, draft)
    issue = Edition.objects.get().issue
    later = Draft.objects.create(
        title="Martins",
        letter="M.",
        issue=issue,
        address="late",
        goes_to="nobody",
        created_by=author,
        saved_by=author,
    )
    assert publish_by_page(window, later).status == 303
    issue.refresh_from_db()
    assert issue.slug == "mine"


@pytest.mark.django_db
def test_a_moved_in_issue_keeps_its_old_address():
    for old, kept in (("my_Old-post", "my_old-post"), (quote("привет"), "привет")):
        assert save_moved_issue("Title", old, "ghost", None, Visibility.PUBLIC).slug == kept

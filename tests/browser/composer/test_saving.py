"""The composer in a real browser loses no text."""

import re
from urllib.parse import parse_qs

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Page, expect

from delivery.models import Edition
from idempotency.key import fresh_key
from publishing.content.draft_content import MARKDOWN, DraftFields, build_content
from publishing.drafts import save_draft
from publishing.models import Draft
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber, Tag
from tests.browser.author_session import (
    LETTER,
    TITLE,
    WRITE,
    check,
    come_to,
    is_ready,
    is_saved,
    late,
    letter,
    open_settings,
    publish_to,
    shown,
    sign_in,
)
from tests.browser.conftest import READERS

pytestmark = pytest.mark.django_db(transaction=True)


OFFLINE = (
    "You are offline. Your text is kept in this browser and will be saved when the connection "
    "returns."
)


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/logout/")


def saved_elsewhere(draft: Draft, words: str = "Theirs.") -> None:
    ines = get_user_model().objects.create_user("ines")
    save_draft.save(
        draft.pk, 1, DraftFields(title=TITLE, format=MARKDOWN, letter=words), by=ines.pk
    )


def is_saved_as(page: Page, words: str) -> None:
    is_saved(page)
    assert Draft.objects.get().letter == words


def test_text_saves_automatically_and_the_preview_follows(composer):
    composer.get_by_label("Title and subject").fill(TITLE)
    letter(composer).fill(LETTER)

    is_saved(composer)
    expect(composer.locator(".saved")).to_have_text(
        re.compile(r"Saved\s+\d\d:\d\d:\d\d\s+A copy is kept in this browser\.")
    )
    expect(shown(composer).get_by_text("they have gone.")).to_be_visible()
    expect(composer.locator("[data-stat=subject]")).to_have_text(TITLE)
    expect(composer.locator(".numbers")).to_have_text(
        "5 words · 1 minute to read · 5 of Gmail’s 102 kB"
    )
    draft = Draft.objects.get()
    assert (draft.title, draft.letter) == (TITLE, LETTER)
    assert str(draft.pk) in composer.url

    letter(composer).press("End")
    letter(composer).press_sequentially(" For good.")
    expect(shown(composer).get_by_text("For good.")).to_be_visible()
    assert Draft.objects.get().letter == f"{LETTER} For good."
    composer.reload()
    expect(letter(composer)).to_have_value(f"{LETTER} For good.")


def test_correction_is_shown_before_its_first_change(desk, author):
    words = DraftFields(title=TITLE, format=MARKDOWN, letter=LETTER)
    first = publish(author.pk, fresh_key(), build_content(words), hold_s=0).edition
    desk.goto(f"{WRITE}?issue={first.issue_id}")
    page = is_ready(desk)

    expect(shown(page).get_by_text("they have gone.")).to_be_visible()
    page.get_by_role("button", name="Plain text", exact=True).click()
    expect(page.locator("[data-frames] iframe")).to_have_count(1)
    expect(shown(page).locator("pre")).to_contain_text("they have gone.")
    assert not Draft.objects.exists()

    letter(page).fill("They are back.")
    expect(shown(page).locator("pre")).to_contain_text("They are back.")
    assert Draft.objects.get().issue_id == first.issue_id


def test_text_written_before_the_script_loads_is_saved(desk):
    with late(desk, "composer", WRITE):
        letter(desk).fill("Written on a slow line.")

    is_saved_as(desk, "Written on a slow line.")


def test_leaving_at_once_loses_no_text(composer):
    letter(composer).fill("Written in a hurry.")
    composer.goto("/admin/newsletters/issues/")

    expect(composer.get_by_role("heading", level=1)).to_be_visible()
    composer.goto(WRITE)
    if not Draft.objects.filter(letter="Written in a hurry.").exists():
        composer.get_by_role("button", name="Restore this text").click()
        is_saved_as(composer, "Written in a hurry.")


def test_later_of_two_tabs_never_overwrites_silently(writing, draft):
    other = writing.context.new_page()
    other.goto(writing.url)
    is_ready(other)
    letter(writing).fill("One thing.\n\nThe same.")
    expect(shown(writing).get_by_text("One thing.")).to_be_visible()

    letter(other).fill("Another thing.\n\nThe same.")

    expect(other.get_by_text("This draft was changed in another tab at ")).to_be_visible()
    assert Draft.objects.get().letter == "One thing.\n\nThe same."
    other.get_by_role("button", name="Compare").click()
    expect(other.locator("mark")).to_have_text(["One thing.", "Another thing."])
    other.get_by_role("button", name="Save mine as a copy").click()
    expect(letter(other)).to_have_value("Another thing.\n\nThe same.")
    assert {one.letter for one in Draft.objects.all()} == {
        "One thing.\n\nThe same.",
        "Another thing.\n\nThe same.",
    }


def test_copy_whose_answer_was_lost_can_be_saved_again(writing, draft):
    def arrives_and_its_answer_does_not(route):
        route.fetch()
        route.abort()

    saved_elsewhere(draft)
    letter(writing).fill("Mine.")
    copy = writing.get_by_role("button", name="Save mine as a copy")
    writing.route("**/drafts/", arrives_and_its_answer_does_not)
    copy.click()
    expect(writing.get_by_role("alert")).to_have_text(
        "The copy could not be saved. Press the button again."
    )
    expect(writing.get_by_text("Both versions are kept.")).to_be_visible()
    writing.unroute_all()
    letter(writing).fill("Mine, and more.")

    copy.click()

    writing.wait_for_url(lambda url: str(draft.pk) not in url)
    expect(letter(writing)).to_have_value("Mine, and more.")
    assert {one.letter for one in Draft.objects.all()} == {"Theirs.", "Mine.", "Mine, and more."}


def test_own_text_stays_available_after_the_other_version_is_taken(writing, draft):
    writing.context.set_offline(True)
    letter(writing).fill("Mine, under way.")
    expect(writing.get_by_role("status")).to_have_text(OFFLINE)
    saved_elsewhere(draft)

    writing.context.set_offline(False)
    expect(writing.get_by_text("Both versions are kept.")).to_be_visible()
    expect(letter(writing)).to_have_value("Mine, under way.")
    writing.get_by_role("button", name="Use the other version").click()

    expect(letter(writing)).to_have_value("Theirs.")
    expect(writing.get_by_text("This device has unsaved text from")).to_be_visible()
    assert Draft.objects.get().letter == "Theirs."


@pytest.mark.parametrize(("arriving", "status"), [("Second.", None), ("First.", 502)])
def test_several_lost_answers_cause_no_conflict(writing, arriving, status):
    seen = set()

    def one_arrives_and_no_answer_does(route):
        if route.request.method != "POST":
            return route.continue_()
        words = parse_qs(route.request.post_data)["letter"][0]
        if words == arriving:
            route.fetch()
        seen.add(words)
        return route.fulfill(status=status) if status else route.abort()

    writing.route("**/drafts/**", one_arrives_and_no_answer_does)
    for words in ("First.", "Second."):
        letter(writing).fill(words)
        while words not in seen:
            writing.wait_for_timeout(50)
    assert Draft.objects.get().letter == arriving
    writing.unroute_all()
    letter(writing).fill("Third.")

    is_saved_as(writing, "Third.")


def test_reload_offers_text_that_was_never_saved(writing):
    writing.route("**/drafts/**", lambda route: _only_reading(route))
    letter(writing).fill("Never saved.")
    expect(writing.get_by_role("status")).to_contain_text("Your text is kept")
    writing.unroute_all()
    writing.route("**/drafts/**", lambda route: _only_reading(route))
    writing.reload()
    is_ready(writing)
    expect(letter(writing)).to_have_value(LETTER)
    writing.unroute_all()

    writing.get_by_role("button", name="Restore this text").click()

    expect(letter(writing)).to_have_value("Never saved.")
    is_saved(writing)
    expect(shown(writing).get_by_text("Never saved.")).to_be_visible()
    assert Draft.objects.get().letter == "Never saved."


def _only_reading(route) -> None:
    if route.request.method == "POST":
        route.abort()
    else:
        route.continue_()


def test_text_written_signed_out_is_saved_after_signing_in(writing):
    other = writing.context.new_page()
    other.goto("/admin/newsletters/issues/")
    sign_out(other)
    letter(writing).fill("Written signed out.")
    expect(writing.get_by_text("You are signed out. Your text is kept")).to_be_visible()
    assert Draft.objects.get().letter == LETTER

    with writing.context.expect_page() as opened:
        writing.get_by_role("link", name="Open the sign-in page").click()
    sign_in(opened.value)
    opened.value.wait_for_url(lambda url: "/login/" not in url)
    writing.bring_to_front()

    is_saved_as(writing, "Written signed out.")


def test_page_saves_nothing_for_another_user_who_signs_in(writing):
    get_user_model().objects.create_superuser("willa", password="a long password")
    other = writing.context.new_page()
    other.goto("/admin/newsletters/issues/")
    sign_out(other)
    come_to(other, "/admin/newsletters/issues/", "willa")
    expect(other.get_by_role("heading", level=1)).to_be_visible()

    letter(writing).fill("Written by Edith.")

    expect(writing.get_by_text("Another author is now signed in.")).to_be_visible()
    expect(writing.get_by_role("status")).to_have_text("Not saved")
    assert Draft.objects.get().letter == LETTER
    sign_out(other)
    come_to(other, "/admin/newsletters/issues/")
    expect(other.get_by_role("heading", level=1)).to_be_visible()
    writing.get_by_role("button", name="Save now").click()

    is_saved_as(writing, "Written by Edith.")


def test_author_without_permission_sees_the_reason_and_stays_signed_in(writing, author):
    author.is_superuser = False
    author.save()
    letter(writing).fill("Not hers to save.")

    expect(writing.get_by_text("You may no longer save this draft")).to_be_visible()
    assert Draft.objects.get().letter == LETTER


def test_too_large_text_is_reported_and_saved_once_shorter(writing):
    # Each character takes nine bytes in the request, so the text exceeds the site's limit.
    letter(writing).evaluate("field => field.value = '雨'.repeat(1_500_000)")
    letter(writing).dispatch_event("input")

    expect(writing.get_by_text("are too long to save")).to_be_visible()
    letter(writing).fill("Short.")

    is_saved_as(writing, "Short.")


def test_text_part_follows_the_letter_until_it_is_edited(writing):
    open_settings(writing, "Plain text")
    expect(writing.get_by_text("Plain text automatic")).to_be_visible()
    made = writing.get_by_label("Plain text (automatic)")
    expect(made).to_have_value(re.compile("Dear"))

    writing.get_by_role("button", name="Edit").click()
    own = writing.get_by_label("Plain text (edited)")
    own.fill("My own words.")
    expect(writing.get_by_text("Plain text edited")).to_be_visible()
    is_saved(writing)
    writing.get_by_role("button", name="Make it from the letter").click()
    writing.get_by_role("button", name="Restore your text").click()

    expect(own).to_have_value("My own words.")


def test_incomplete_test_address_does_not_block_the_check(writing):
    writing.get_by_role("button", name="Send a test…").click()
    writing.get_by_role("dialog").get_by_label("To").fill("edith@")
    writing.get_by_role("button", name="Not now").click()
    writing.get_by_role("button", name="Check and publish").click()

    writing.wait_for_url("**/check/")


def test_return_in_the_title_only_saves(writing):
    writing.get_by_label("Title and subject").fill("Another title")
    writing.get_by_label("Title and subject").press("Enter")

    expect(writing.locator("[data-stat=subject]")).to_have_text("Another title")
    assert Draft.objects.get().format == MARKDOWN
    assert writing.get_by_label("Title and subject").input_value() == "Another title"


def test_unknown_field_is_shown_at_its_place(writing):
    letter(writing).fill("One.\n\n" * 200 + "Dear {{ nmae }}.")
    hint = writing.locator("#letter_hints")
    expect(hint).to_contain_text("Line 401: There is no merge field “{{ nmae }}”")

    for _ in ("while writing", "as it was saved"):
        hint.get_by_role("button", name="Show it").click()
        expect(letter(writing)).to_be_focused()
        selected = letter(writing).evaluate(
            "field => [field.value.slice(field.selectionStart, field.selectionEnd),"
            " field.scrollTop + field.clientHeight > field.scrollHeight - 40]"
        )
        assert selected == ["{{ nmae }}", True]
        writing.reload()
        is_ready(writing)

    letter(writing).fill("Dear {{ name }}.")
    expect(hint).to_have_text("")


def test_tags_are_saved_and_counted_while_the_author_chooses(writing, draft, readers):
    tag = Tag.objects.create(name="Birds")
    Subscriber.objects.filter(pk__in=[reader.pk for reader in readers[:7]]).update(tags=[tag.pk])
    writing.reload()
    open_settings(is_ready(writing), "Choose readers by tag")
    excluded = writing.get_by_role("group", name="No readers").get_by_label("Birds")
    excluded.check()
    expect(writing.get_by_text(f"{READERS - 7} confirmed readers")).to_be_visible()
    excluded.uncheck()
    writing.get_by_role("group", name="Only readers").get_by_label("Birds").check()
    expect(writing.get_by_text("7 confirmed readers")).to_be_visible()
    check(writing)
    publish_to(writing, 7)
    assert Edition.objects.get().with_tags == [[tag.pk, "Birds"]]

"""An author adds, edits, finds and changes readers, on a computer and a phone."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from delivery.models import Delivery
from subscribers.desk.many_readers.change_readers import AT_ONCE, run_chunk
from subscribers.models import ReaderFieldDefinition, Subscriber, Tag
from tests.browser.pages.accessibility import DESKTOP, NARROWEST
from tests.subscribers.factories import SubscriberFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]
READERS = "/admin/newsletters/readers/"
SIZES = pytest.mark.parametrize("size", [DESKTOP, NARROWEST], ids=["computer", "phone"])


@SIZES
def test_an_author_adds_edits_and_corrects_a_reader(
    new_page: Callable[..., Page], author: Any, size: Any
) -> None:
    Tag.objects.create(name="Birds")
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    page = new_page(author, viewport=size)
    page.goto(READERS)
    page.get_by_role("link", name="Add a reader").click()
    page.get_by_label("Email address").fill("lidia@weir.example.org")
    page.get_by_label("City").fill("Tavira")
    page.get_by_label("Birds").check()
    page.get_by_role("button", name="Add reader").click()
    expect(page.get_by_role("status")).to_contain_text("Homing sends a confirmation email.")
    assert Delivery.objects.count() == 1
    page.get_by_role("link", name="Edit", exact=True).click()
    expect(page.get_by_label("Birds")).to_be_checked()
    page.get_by_label("Name").fill("Lídia Ramos")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Saved.")
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_role("link", name="Correct the address").click()
    page.get_by_label("Email address").fill("lidia.ramos@weir.example.org")
    page.get_by_role("button", name="Correct the address").click()
    expect(page.get_by_role("status")).to_contain_text("The old address gets nothing more.")
    expect(page.get_by_role("heading", level=1)).to_have_text("lidia.ramos@weir.example.org")
    expect(page.locator(".facts").first).to_contain_text("Lídia Ramos")


@SIZES
def test_an_author_tags_selected_and_found_readers(
    new_page: Callable[..., Page], author: Any, size: Any
) -> None:
    tag = Tag.objects.create(name="Birds")
    SubscriberFactory.create_batch(AT_ONCE + 10, source="desk")
    other = SubscriberFactory(email="other@posthouse.example.org")
    page = new_page(author, viewport=size)
    page.goto(READERS)
    page.get_by_label("Select other@posthouse.example.org").check()
    page.get_by_label("Tag to put on or take off").select_option("Birds")
    page.get_by_role("button", name="Continue…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Put the tag “Birds” on 1 reader?")
    page.get_by_role("button", name="Put a tag on").click()
    expect(page.get_by_role("status")).to_have_text("Done: 1 reader changed.")
    assert Subscriber.objects.get(tags__contains=[tag.pk]) == other

    page.goto(READERS)
    page.get_by_text("More filters").click()
    page.get_by_label("Source").select_option("Added by an author")
    page.get_by_role("button", name="Find").click()
    page.get_by_label(f"All {AT_ONCE + 10} readers that match").check()
    page.get_by_label("Tag to put on or take off").select_option("Birds")
    page.get_by_role("button", name="Continue…").click()
    page.get_by_role("button", name="Put a tag on").click()
    expect(page.get_by_role("status")).to_contain_text(f"Readers done: 0 of {AT_ONCE + 10}.")
    assert run_chunk()  # as a worker does; the page follows
    expect(page.get_by_role("status")).to_have_text(f"Done: {AT_ONCE + 10} readers changed.")
    assert Subscriber.objects.filter(tags=[tag.pk]).count() == AT_ONCE + 11

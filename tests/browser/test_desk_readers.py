"""An author finds and changes many readers, on a computer and a phone."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from subscribers.desk.many_readers.change_readers import AT_ONCE, run_chunk
from subscribers.models import Subscriber, Tag
from tests.browser.pages.accessibility import DESKTOP, NARROWEST
from tests.subscribers.factories import SubscriberFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]
READERS = "/admin/newsletters/readers/"
SIZES = pytest.mark.parametrize("size", [DESKTOP, NARROWEST], ids=["computer", "phone"])


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
    assert run_chunk()  # apply the change as a worker does; then the page updates
    expect(page.get_by_role("status")).to_have_text(f"Done: {AT_ONCE + 10} readers changed.")
    assert Subscriber.objects.filter(tags=[tag.pk]).count() == AT_ONCE + 11

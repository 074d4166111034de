"""Write, look, check, publish, watch and take the file away, in a browser that runs no scripts."""

from __future__ import annotations

import csv

import pytest
from playwright.sync_api import expect

from delivery.models import Delivery, Edition
from publishing.models import Draft
from tests.browser.at_the_desk import (
    ACCEPTED,
    LETTER,
    TITLE,
    ask,
    check,
    come_to,
    edition,
    succeeded,
    write,
)
from tests.browser.conftest import READERS
from tests.browser.letterboxes import copies_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_issue_is_written_published_and_watched_without_scripts(
    new_page, author, readers, site, provider
):
    page = come_to(new_page(java_script_enabled=False))

    # What she writes is saved and shown as it will arrive.
    write(page)
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    assert (Draft.objects.get().title, Draft.objects.get().letter) == (TITLE, LETTER)
    page.get_by_role("button", name="Save and preview").click()
    frame = page.frame_locator("[data-frames] iframe >> nth=0")
    expect(frame.get_by_text("they have gone.")).to_be_visible()

    # The sheet leads to a page that asks, and its button publishes.
    check(page)
    ask(page, READERS)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Publish to {READERS} readers?")
    assert not Edition.objects.exists()
    page.get_by_role("button", name=f"Publish to {READERS}").click()
    expect(page.get_by_text(ACCEPTED)).to_be_visible()
    assert edition().audience == READERS

    # The page loads itself again until all is over.
    expect(page.get_by_role("status")).to_have_text("Sending")
    with site.worker():
        succeeded(page, f"Succeeded. {READERS} copies went out, one each")
    assert page.locator("meta[http-equiv=refresh]").count() == 0
    assert copies_of(provider, edition()) == {one.email: 1 for one in readers}

    # The readers as a file, and the receipt.
    with page.expect_download() as download:
        page.get_by_role("link", name=f"Download these {READERS} as CSV").click()
    with download.value.path().open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["address"] for row in rows} == {one.email for one in readers}
    assert {row["outcome"] for row in rows} == {"sent"}
    assert Delivery.objects.filter(outcome="sent").count() == len(rows) == READERS
    page.get_by_role("link", name="See the receipt").click()
    expect(page.locator(".tally")).to_contain_text(f"{READERS} of {READERS} sent")

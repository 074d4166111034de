"""Write, look, check, publish, watch and take the file away, in a browser that runs no scripts."""

from __future__ import annotations

import csv
import shutil

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
from tests.browser.conftest import NAMES, READERS
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


@pytest.fixture
def keeps_pages(chromium, site):
    """A window without scripts, of a browser that keeps the page one comes from, as people's do."""
    browser = chromium.browser_type.launch(
        executable_path=next(filter(None, map(shutil.which, NAMES))),
        args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"],
        ignore_default_args=["--disable-back-forward-cache"],
    )
    page = browser.new_page(base_url=site.url, java_script_enabled=False)
    page.set_default_timeout(60_000)
    yield page
    browser.close()


def test_a_form_that_is_too_large_is_told_so_and_its_words_are_there_on_going_back(
    keeps_pages, author
):
    page = come_to(keeps_pages)
    words = "Swifts. " * 1_700_000
    page.get_by_label("Title and subject").fill(TITLE)
    page.get_by_label("Letter, in").fill(words)
    page.get_by_role("button", name="Save", exact=True).first.click()

    expect(page.get_by_role("heading", level=1)).to_have_text("This form is too large")
    expect(page.get_by_text("at most 12 MB are possible, and nothing was saved")).to_be_visible()
    assert not Draft.objects.exists()

    # A page that was kept is not loaded again.
    page.go_back(wait_until="commit")
    expect(page.get_by_label("Title and subject")).to_have_value(TITLE)
    assert page.get_by_label("Letter, in").input_value() == words

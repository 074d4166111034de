"""Write, look, check, publish, watch and take the file away, in a browser that runs no scripts."""

from __future__ import annotations

import csv
import shutil

import pytest
from playwright.sync_api import Page, expect

from delivery.models import Delivery, Edition
from publishing.models import Draft
from subscribers.models import Subscriber
from tests.browser.at_the_desk import (
    ACCEPTED,
    FORM,
    LETTER,
    TITLE,
    WRITE,
    ask,
    check,
    come_to,
    copies_of,
    edition,
    succeeded,
    write,
)
from tests.browser.conftest import ARGUMENTS, NAMES, READERS
from tests.browser.desk_of_readers import FAIR, IMPORTS, upload
from tests.browser.states_of_the_desk import busy

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def plain(new_page, author) -> Page:
    """A window without scripts, of Edith who is signed in."""
    return new_page(author, java_script_enabled=False)


def test_an_issue_is_written_published_and_watched_without_scripts(
    new_page, author, readers, site, provider
):
    page = come_to(new_page(java_script_enabled=False), WRITE)

    # What she writes is saved and shown as it will arrive.
    write(page)
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    assert (Draft.objects.get().title, Draft.objects.get().letter) == (TITLE, LETTER)
    expect(page.get_by_role("button", name="Bold")).to_be_hidden()
    page.get_by_role("button", name="Save and preview").click()
    frame = page.frame_locator("[data-frames] iframe >> nth=0")
    expect(frame.get_by_text("they have gone.")).to_be_visible()
    page.get_by_label("Text part, in your own words").fill("My own words.")
    page.get_by_role("button", name="Text", exact=True).click()
    expect(frame.locator("pre")).to_contain_text("My own words.")

    # The sheet leads to a page that asks, and its button publishes.
    check(page)
    ask(page, READERS)
    page.get_by_role("link", name="Not yet").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Before it goes out")
    ask(page, READERS)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Publish to {READERS} readers?")
    assert not Edition.objects.exists()
    page.get_by_role("button", name=f"Publish to {READERS}").click()
    expect(page.get_by_text(ACCEPTED)).to_be_visible()
    assert (edition().audience, edition().text_content) == (READERS, "My own words.")

    # Neither the page that asked nor one that is asked for anew publishes it again.
    page.go_back()
    again = page.get_by_role("button", name=f"Publish to {READERS}")
    if again.count():
        again.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    assert Edition.objects.count() == 1

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


def test_a_list_is_imported_without_scripts(plain, site):
    plain.goto(IMPORTS)
    upload(plain, "village-fair.csv", "text/csv", FAIR)
    expect(plain.get_by_text("It waits for a worker")).to_be_visible()

    with site.worker():
        # The page loads itself again until there is something to decide.
        plain.get_by_label("These people gave their consent elsewhere").check()
        plain.get_by_label("Where and how").fill("Signed list at the village fair")
        plain.get_by_role("button", name="Import 4 readers as confirmed").click()
        expect(plain.get_by_text("Imported. Of 7 rows, 4 were added")).to_be_visible()

    assert Subscriber.objects.filter(state="confirmed").count() == 4
    plain.get_by_role("navigation", name="Desk").get_by_role("link", name="Readers").click()
    expect(plain.get_by_role("link", name="lidia.ramos@weir.example.org")).to_be_visible()


def test_an_alarm_is_looked_at_and_an_issue_found_with_the_keyboard_and_without_scripts(
    plain, author
):
    busy(author)
    plain.goto(f"{FORM}issues/")
    plain.get_by_role("button", name="I have looked at it").press("Enter")
    expect(plain.get_by_text("Noted. The alarms stay on the page of the issue.")).to_be_visible()
    expect(plain.get_by_text("accepted a second copy")).to_have_count(0)

    plain.get_by_role("link", name="Ended").click()
    plain.get_by_label("Find an issue").fill("HERONS")
    plain.get_by_label("Find an issue").press("Enter")
    expect(plain.locator(".issues .title")).to_have_text(["On the patience of herons"])


@pytest.fixture
def keeps_pages(chromium, site):
    """A window without scripts, of a browser that keeps the page one comes from, as people's do."""
    browser = chromium.browser_type.launch(
        executable_path=next(filter(None, map(shutil.which, NAMES))),
        args=ARGUMENTS,
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
    write(page, words)
    page.get_by_role("button", name="Save", exact=True).first.click()

    expect(page.get_by_role("heading", level=1)).to_have_text("This form is too large")
    expect(page.get_by_text("at most 12 MB are possible, and nothing was saved")).to_be_visible()
    assert not Draft.objects.exists()

    # A page that was kept is not loaded again.
    page.go_back(wait_until="commit")
    expect(page.get_by_label("Title and subject")).to_have_value(TITLE)
    assert page.get_by_label("Letter, in").input_value() == words

"""An issue from draft to receipt in a real browser, with real workers.

One of the tests uses a browser without scripts.
"""

import csv
import re

import pytest
from playwright.sync_api import expect

from delivery.models import Delivery, Edition
from publishing.models import Draft, Receipt
from subscribers.leaving import leave
from subscribers.models import Subscriber
from subscribers.models.consent_record import How
from tests.browser.author_session import (
    ACCEPTED,
    LETTER,
    TITLE,
    WRITE,
    accepted_by,
    ask,
    check,
    come_to,
    copies_of,
    count,
    do,
    edition,
    is_ready,
    is_saved,
    publish_to,
    succeeded,
    write,
)
from tests.browser.conftest import HELD_IN_BATCHES, READERS
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

HERSELF = "edith@posthouse.example.org"


@HELD_IN_BATCHES
def test_an_issue_is_written_published_sent_and_receipted(
    new_page, author, readers, site, provider
):
    page = come_to(new_page())
    assert not Draft.objects.exists()

    # Edith writes, loses the connection, and reconnects.
    write(page)
    is_saved(page)
    page.context.set_offline(True)
    page.get_by_label("Letter, in").fill(f"{LETTER}\n\nWritten in a tunnel.")
    expect(page.get_by_role("status")).to_contain_text("You are offline. Your text is kept")
    assert Draft.objects.get().letter == LETTER
    page.context.set_offline(False)
    is_saved(page)
    draft = Draft.objects.get()
    assert (draft.title, draft.letter) == (TITLE, f"{LETTER}\n\nWritten in a tunnel.")

    # The preview shows the letter as it will arrive.
    frame = page.frame_locator("[data-frames] iframe >> nth=0")
    expect(frame.get_by_text("Written in a tunnel.")).to_be_visible()
    page.get_by_role("button", name="Plain text", exact=True).click()
    expect(frame.locator("pre")).to_contain_text("Written in a tunnel.")

    with site.worker():
        # One test letter arrives, marked as a test, and nothing is published.
        page.get_by_role("button", name="Send a test…").click()
        page.get_by_label("To", exact=True).fill(HERSELF)
        page.get_by_role("dialog").get_by_role("button", name="Send a test").dblclick()
        with page.expect_popup() as opened:
            page.get_by_role("link", name="View status").click()
        window = opened.value
        expect(window.get_by_role("status")).to_contain_text("Postmark accepted it at")
        window.get_by_role("link", name="Back to the letter").click()
        expect(window.get_by_label("Title and subject")).to_have_value(TITLE)
        window.close()
        page.get_by_role("button", name="Back to the letter").click()
        [test] = accepted_by(provider)
        assert (test.recipients, test.item["Subject"]) == ([HERSELF], f"[Test] {TITLE}")
        assert not Edition.objects.filter(kind="newsletter").exists()

        # Edith checks the letter once more, in a tab that stays open, and publishes with a double
        # click.
        check(page)
        stale = page.context.new_page()
        stale.goto(f"/admin/newsletters/drafts/{draft.pk}/publish/")
        publish_to(page, READERS, double_click=True)
        assert edition().audience == READERS

        # The back button and the earlier tab do not publish the issue again.
        page.go_back()
        again = page.get_by_role("button", name=f"Publish to {READERS}…")
        if again.count():  # The browser kept the page. A new request would lead to the issue.
            again.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
        stale.get_by_role("button", name=f"Publish to {READERS}").click()
        expect(stale.get_by_role("heading", level=1)).to_have_text(TITLE)
        stale.close()
        assert Edition.objects.filter(kind="newsletter").count() == 1
        assert Delivery.objects.filter(issue=edition().issue_id).count() == READERS

        # During the hold nothing is sent, although a worker is running. Edith calls the issue back.
        do(page, "Call back", f"Call back {READERS} copies")
        expect(page.locator(".lede")).to_contain_text("Called back. It was sent to nobody")
        page.get_by_role("link", name="Open the draft").click()
        expect(page.get_by_label("Letter, in")).to_have_value(draft.letter)
        assert edition().control == "cancelled"
        assert not copies_of(provider, edition())
        assert Delivery.objects.filter(outcome="withdrawn").count() == READERS

    # Edith fixes the text and publishes again, and does not wait until the hold ends.
    write(page, "Dear {{ name|reader }},\n\nthey have all gone.")
    is_saved(page)
    check(page)
    publish_to(page, READERS)
    expect(page.get_by_role("status")).to_have_text("Held")
    do(page, "Send now", f"Send to {READERS} readers now")

    # Edith watches on a page that she does not touch until sending has ended.
    expect(page.get_by_role("status")).to_have_text("Sending")
    page.evaluate("window.notLoadedAgain = true")
    with site.worker():
        succeeded(page, f"Succeeded. Postmark accepted {READERS} copies")
    assert page.evaluate("window.notLoadedAgain")
    assert copies_of(provider, edition(version=2)) == {one.email: 1 for one in readers}
    assert not copies_of(provider, edition(version=1))
    second = Delivery.objects.filter(issue=edition(version=2).issue_id, version=2)
    assert second.filter(outcome="sent").exclude(provider_message_id="").count() == READERS

    # The receipt shows the same counts and is genuine.
    page.get_by_role("link", name="View receipt").click()
    expect(page.locator(".tally")).to_contain_text(f"{READERS} of {READERS} sent")
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the receipt").click()
    page.get_by_role("link", name="Check a receipt").click()
    page.get_by_label("Text of the receipt").fill(download.value.path().read_text())
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_text("Genuine.", exact=True)).to_be_visible()
    assert Receipt.objects.count() == 1


BATCH = 5
ONE_CALL_ONE_TRY = {"DELIVERY_CONCURRENCY": 1, "DELIVERY_MAX_ATTEMPTS": 1}


@HELD_IN_BATCHES
def test_pause_resume_send_to_missed_and_correction(new_page, author, readers, site, provider):
    faults, gate = provider.sandbox.faults, provider.sandbox.gate
    page = new_page(author)
    page.goto(WRITE)
    write(page)
    is_saved(page)
    check(page)
    publish_to(page, READERS)
    do(page, "Send now", f"Send to {READERS} readers now")

    # The second call is in flight when Edith pauses. This call ends, and no other call begins.
    faults.set({"kind": "hold", "nth": 2, "moment": "before_accept"})
    with site.worker(**ONE_CALL_ONE_TRY):
        assert gate.wait_until(lambda: gate.held == 1, 60)
        sent = page.locator("#sent-total")
        expect(sent).to_have_text(str(BATCH))
        do(page, "Pause", "Pause")
        expect(page.locator("main")).to_contain_text(
            f"Paused. {READERS - 2 * BATCH} copies wait until you resume. "
            f"{BATCH} copies are being sent and may still arrive."
        )
        gate.release()
        expect(sent).to_have_text(str(2 * BATCH))
        expect(page.get_by_role("status")).to_have_text("Paused")
    assert copies_of(provider, edition()).total() == 2 * BATCH
    assert Delivery.objects.filter(outcome="sent").count() == 2 * BATCH
    assert Delivery.objects.filter(outcome="waiting").count() == READERS - 2 * BATCH

    # Edith resumes the issue. Postmark is busy for one reader's copy, so the reader is missed.
    missed = Delivery.objects.filter(outcome="waiting").order_by("recipient").last()
    who = {"recipient": missed.address, "recipients": [missed.address]}
    faults.set({"kind": "item_error", "code": 100, **who})
    do(page, "Resume", f"Resume for {READERS - 2 * BATCH} readers")
    with site.worker(**ONE_CALL_ONE_TRY):
        expect(page.get_by_role("status")).to_have_text("Needs attention")
    expect(page.locator(".lede")).to_contain_text("1 reader was missed")
    assert (count(page, "sent"), count(page, "failed")) == (READERS - 1, 1)
    everybody_else = {one.email: 1 for one in readers if one.email != missed.address}
    assert copies_of(provider, edition()) == everybody_else

    # Edith downloads the list of missed readers and resends. Only the missed reader gets a copy.
    page.reload()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download missed readers as CSV").click()
    assert download.value.suggested_filename.endswith("-v1-missed.csv")
    with download.value.path().open(newline="") as file:
        assert [row["address"] for row in csv.DictReader(file)] == [missed.address]
    faults.clear()
    do(page, "Send to missed readers", "Send to 1 reader")
    site.deliver()
    succeeded(page, f"Succeeded. Postmark accepted {READERS} copies")
    assert copies_of(provider, edition()) == {**everybody_else, missed.address: 1}

    # One reader unsubscribes and one joins. The correction goes to the readers who got the mistake.
    gone, stays = readers[0], readers[1:]
    leave.leave(gone.pk, How.ONE_CLICK, network="203.0.113.0/24")
    SubscriberFactory()
    assert Subscriber.objects.filter(state="confirmed").count() == READERS
    page.get_by_role("link", name="Write a correction").click()
    expect(is_ready(page).get_by_label("Title and subject")).to_have_value(TITLE)
    page.get_by_label("Letter, in").fill(f"{LETTER}\n\nNot all of them.")
    page.get_by_role("button", name="Settings").click()
    page.get_by_label(re.compile("^Only those who were sent an earlier version")).check()
    is_saved(page)
    check(page)
    expect(page.get_by_text("a correction of")).to_be_visible()
    publish_to(page, READERS - 1)
    do(page, "Send now", f"Send to {READERS - 1} readers now")
    site.deliver()
    succeeded(page, f"Succeeded. Postmark accepted {READERS - 1} copies")
    assert copies_of(provider, edition(version=2)) == {one.email: 1 for one in stays}
    assert copies_of(provider, edition()) == {one.email: 1 for one in readers}


def test_issue_is_written_published_and_watched_without_scripts(
    new_page, author, readers, site, provider
):
    page = come_to(new_page(java_script_enabled=False), WRITE)

    # Edith's text is saved, and the preview shows it as it will arrive.
    write(page)
    page.get_by_role("button", name="Save", exact=True).first.click()
    expect(page.get_by_role("status")).to_have_text("Saved")
    assert (Draft.objects.get().title, Draft.objects.get().letter) == (TITLE, LETTER)
    expect(page.get_by_role("button", name="Bold")).to_be_hidden()
    page.get_by_role("button", name="Save and preview").click()
    frame = page.frame_locator("[data-frames] iframe >> nth=0")
    expect(frame.get_by_text("they have gone.")).to_be_visible()
    page.locator("summary", has_text="Plain text").click()
    page.get_by_label("Plain text (edited)").fill("My own words.")
    page.get_by_role("button", name="Plain text", exact=True).click()
    expect(frame.locator("pre")).to_contain_text("My own words.")

    # The sheet leads to a confirmation page. The button of that page publishes.
    check(page)
    ask(page, READERS)
    page.get_by_role("link", name="Not now").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Before it goes out")
    ask(page, READERS)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Publish to {READERS} readers?")
    assert not Edition.objects.exists()
    page.get_by_role("button", name=f"Publish to {READERS}").click()
    expect(page.get_by_text(ACCEPTED)).to_be_visible()
    assert (edition().audience, edition().text_content) == (READERS, "My own words.")

    # Neither the confirmation page nor a new request for this page publishes again.
    page.go_back()
    again = page.get_by_role("button", name=f"Publish to {READERS}")
    if again.count():
        again.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    assert Edition.objects.count() == 1

    # The page reloads until sending has ended.
    expect(page.get_by_role("status")).to_have_text("Sending")
    with site.worker():
        succeeded(page, f"Succeeded. Postmark accepted {READERS} copies")
    assert page.locator("meta[http-equiv=refresh]").count() == 0
    assert copies_of(provider, edition()) == {one.email: 1 for one in readers}

    # Edith downloads the list of readers and the receipt.
    with page.expect_download() as download:
        page.get_by_role("link", name=f"Download {READERS} readers as CSV").click()
    with download.value.path().open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["address"] for row in rows} == {one.email for one in readers}
    assert {row["outcome"] for row in rows} == {"sent"}
    assert Delivery.objects.filter(outcome="sent").count() == len(rows) == READERS
    page.get_by_role("link", name="View receipt").click()
    expect(page.locator(".tally")).to_contain_text(f"{READERS} of {READERS} sent")

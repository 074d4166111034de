"""The whole way of one issue at a real browser, with a real worker."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from delivery.models import Delivery, Edition
from publishing.models import Draft, Receipt
from tests.browser.at_the_desk import (
    LETTER,
    PATIENCE_MS,
    TITLE,
    accepted_by,
    check,
    come_to,
    copies_of,
    do,
    edition,
    is_saved,
    publish_to,
    succeeded,
    write,
)
from tests.browser.conftest import READERS

pytestmark = pytest.mark.django_db(transaction=True)

HERSELF = "edith@posthouse.example.org"


@pytest.mark.parametrize("site_settings", [{"PUBLISH_HOLD_S": "600"}])
def test_an_issue_from_its_first_word_to_its_receipt(new_page, author, readers, site, provider):
    page = come_to(new_page())
    assert not Draft.objects.exists()

    # She writes, loses the connection, and comes back.
    write(page)
    is_saved(page)
    page.context.set_offline(True)
    page.get_by_label("Letter, in").fill(f"{LETTER}\n\nWritten in a tunnel.")
    expect(page.get_by_role("status")).to_contain_text("You are offline. Every word is kept")
    assert Draft.objects.get().letter == LETTER
    page.context.set_offline(False)
    is_saved(page)
    draft = Draft.objects.get()
    assert (draft.title, draft.letter) == (TITLE, f"{LETTER}\n\nWritten in a tunnel.")

    # The preview shows it as it will arrive.
    frame = page.frame_locator("[data-frames] iframe >> nth=0")
    expect(frame.get_by_text("Written in a tunnel.")).to_be_visible()
    page.get_by_role("button", name="Text", exact=True).click()
    expect(frame.locator("pre")).to_contain_text("Written in a tunnel.")

    with site.worker():
        # A test letter arrives, marked, once; nothing is published by it.
        page.get_by_role("button", name="Send a test…").click()
        page.get_by_label("To", exact=True).fill(HERSELF)
        page.get_by_role("dialog").get_by_role("button", name="Send a test").dblclick()
        with page.expect_popup() as opened:
            page.get_by_role("link", name="See how it stands").click()
        expect(opened.value.get_by_role("status")).to_contain_text(
            "Postmark accepted it at", timeout=PATIENCE_MS
        )
        opened.value.get_by_role("link", name="Back to the letter").click()
        expect(opened.value.get_by_label("Title and subject")).to_have_value(TITLE)
        opened.value.close()
        page.get_by_role("button", name="Back to the letter").click()
        [test] = accepted_by(provider)
        assert (test.recipients, test.item["Subject"]) == ([HERSELF], f"[Test] {TITLE}")
        assert not Edition.objects.filter(kind="newsletter").exists()

        # She looks once more, in a tab that stays open, and publishes by a double click.
        check(page)
        stale = page.context.new_page()
        stale.goto(f"/admin/newsletters/drafts/{draft.pk}/publish/")
        publish_to(page, READERS, double_click=True)
        assert edition().audience == READERS

        # Neither the back button nor the tab of before publishes it again.
        page.go_back()
        again = page.get_by_role("button", name=f"Publish to {READERS}…")
        if again.count():  # kept by the browser; one that is asked for anew leads to the issue
            again.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
        stale.get_by_role("button", name=f"Publish to {READERS}").click()
        expect(stale.get_by_role("heading", level=1)).to_have_text(TITLE)
        stale.close()
        assert Edition.objects.filter(kind="newsletter").count() == 1
        assert Delivery.objects.filter(issue=edition().issue_id).count() == READERS

        # During the hold nothing leaves, though a worker is there. She calls it back.
        do(page, "Call back", f"Call back {READERS} copies")
        expect(page.locator(".lede")).to_contain_text("Called back. It reached nobody")
        page.get_by_role("link", name="Open the draft").click()
        expect(page.get_by_label("Letter, in")).to_have_value(draft.letter)
        assert edition().control == "cancelled"
        assert not copies_of(provider, edition())
        assert Delivery.objects.filter(outcome="withdrawn").count() == READERS

    # She mends them and publishes again; nobody is kept waiting.
    write(page, "Dear {{ name|reader }},\n\nthey have all gone.")
    is_saved(page)
    check(page)
    publish_to(page, READERS)
    expect(page.get_by_role("status")).to_have_text("Held")
    do(page, "Send now", f"Send to {READERS} readers now")

    # She watches it to its end on a page that she does not touch.
    expect(page.get_by_role("status")).to_have_text("Sending")
    page.evaluate("window.notLoadedAgain = true")
    with site.worker():
        succeeded(page, f"Succeeded. {READERS} copies went out, one each")
    assert page.evaluate("window.notLoadedAgain")
    assert copies_of(provider, edition(version=2)) == {one.email: 1 for one in readers}
    assert not copies_of(provider, edition(version=1))
    second = Delivery.objects.filter(issue=edition(version=2).issue_id, version=2)
    assert second.filter(outcome="sent").exclude(provider_message_id="").count() == READERS

    # The receipt says the same, and is genuine.
    page.get_by_role("link", name="See the receipt").click()
    expect(page.locator(".tally")).to_contain_text(f"{READERS} of {READERS} sent")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the receipt").click()
    page.get_by_role("link", name="Check a receipt").click()
    page.get_by_label("The receipt’s whole text").fill(download.value.path().read_text())
    page.get_by_role("button", name="Check it").click()
    expect(page.get_by_text("Genuine.", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    assert Receipt.objects.count() == 1

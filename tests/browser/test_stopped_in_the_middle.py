"""An issue that is stopped half-way: paused and resumed, the missed made good, then corrected."""

from __future__ import annotations

import csv
import re

import pytest
from playwright.sync_api import expect

from delivery.models import Delivery
from subscribers import leaving
from subscribers.models import Subscriber
from subscribers.models.consent_record import How
from tests.browser.at_the_desk import (
    LETTER,
    PATIENCE_MS,
    TITLE,
    WRITE,
    check,
    copies_of,
    count,
    do,
    edition,
    is_saved,
    publish_to,
    succeeded,
    write,
)
from tests.browser.conftest import READERS
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db(transaction=True)

BATCH = 5
ONE_CALL_ONE_TRY = {"DELIVERY_CONCURRENCY": 1, "DELIVERY_MAX_ATTEMPTS": 1}


@pytest.mark.parametrize("site_settings", [{"DELIVERY_BATCH_SIZE": str(BATCH)}])
def test_paused_resumed_the_missed_made_good_and_those_who_got_it_told_of_a_mistake(
    desk, readers, site, provider
):
    faults, gate = provider.sandbox.faults, provider.sandbox.gate
    page = desk
    page.goto(WRITE)
    write(page)
    is_saved(page)
    check(page)
    publish_to(page, READERS)

    # The second call is in the air when she pauses: it ends, and no other begins.
    faults.set({"kind": "hold", "nth": 2, "moment": "before_accept"})
    with site.worker(**ONE_CALL_ONE_TRY):
        assert gate.wait_until(lambda: gate.held == 1, 60)
        expect(page.locator("[data-text=count_sent]").first).to_have_text(
            str(BATCH), timeout=PATIENCE_MS
        )
        do(page, "Pause", f"Pause {READERS - BATCH} copies")
        expect(page.locator(".lede")).to_contain_text("Paused.")
        gate.release()
        expect(page.locator("[data-text=count_sent]").first).to_have_text(
            str(2 * BATCH), timeout=PATIENCE_MS
        )
        expect(page.get_by_role("status")).to_have_text("Paused")
    assert copies_of(provider, edition()).total() == 2 * BATCH
    assert Delivery.objects.filter(outcome="sent").count() == 2 * BATCH
    assert Delivery.objects.filter(outcome="waiting").count() == READERS - 2 * BATCH

    # Resumed, it goes on where it was. Postmark has no time for one reader, who is missed.
    missed = Delivery.objects.filter(outcome="waiting").order_by("recipient").last()
    who = {"recipient": missed.address, "recipients": [missed.address]}
    faults.set({"kind": "item_error", "code": 100, **who})
    do(page, "Resume", f"Resume for {READERS - 2 * BATCH} readers")
    with site.worker(**ONE_CALL_ONE_TRY):
        expect(page.get_by_role("status")).to_have_text("Needs attention", timeout=PATIENCE_MS)
    expect(page.locator(".lede")).to_contain_text("1 reader was missed")
    assert (count(page, "sent"), count(page, "failed")) == (READERS - 1, 1)
    everybody_else = {one.email: 1 for one in readers if one.email != missed.address}
    assert copies_of(provider, edition()) == everybody_else

    # The missed as a file, and then their copy: nobody else gets another.
    page.reload()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the missed as CSV").click()
    assert download.value.suggested_filename.endswith("-v1-missed.csv")
    with download.value.path().open(newline="") as file:
        assert [row["address"] for row in csv.DictReader(file)] == [missed.address]
    faults.clear()
    do(page, "Send to the missed", "Send to 1 reader")
    site.deliver()
    succeeded(page, f"Succeeded. {READERS} copies went out, one each")
    assert copies_of(provider, edition()) == {**everybody_else, missed.address: 1}

    # Somebody leaves and somebody comes; the correction is for those who have the mistake.
    gone, stays = readers[0], readers[1:]
    leaving.leave(gone.pk, How.ONE_CLICK, network="203.0.113.0/24")
    SubscriberFactory()
    assert Subscriber.objects.filter(state="confirmed").count() == READERS
    page.get_by_role("link", name="Write a correction").click()
    expect(page.get_by_label("Title and subject")).to_have_value(TITLE)
    page.get_by_label("Letter, in").fill(f"{LETTER}\n\nNot all of them.")
    page.get_by_label(re.compile("^Only those who were sent an earlier version")).check()
    is_saved(page)
    check(page)
    expect(page.get_by_text("a correction of")).to_be_visible()
    publish_to(page, READERS - 1)
    site.deliver()
    succeeded(page, f"Succeeded. {READERS - 1} copies went out, one each")
    assert copies_of(provider, edition(version=2)) == {one.email: 1 for one in stays}
    assert copies_of(provider, edition()) == {one.email: 1 for one in readers}

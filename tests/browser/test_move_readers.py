"""An author moves readers from another service, on a computer and a phone."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from subscribers.confirmed_readers import confirmed
from tests.browser.pages.accessibility import DESKTOP, NARROWEST
from tests.browser.pages.desk_reader_pages import upload
from tests.subscribers.importing.file_format.test_files_in_zip import SUBSTACK, packed
from tests.subscribers.importing.file_format.test_status_columns import EXPORTS, results_by_address
from tests.subscribers.importing.import_browser import run_workers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]


@pytest.mark.parametrize("size", [DESKTOP, NARROWEST], ids=["computer", "phone"])
def test_an_author_moves_each_list_of_a_zip(
    new_page: Callable[..., Page], author: Any, size: Any
) -> None:
    lists = {path.name: path.read_text() for path in EXPORTS if "_export_" in path.name}
    page = new_page(author, viewport=size)
    page.goto("/admin/newsletters/readers/")
    page.get_by_role("link", name="Move from another service").click()
    page.get_by_text("Mailchimp", exact=True).click()
    expect(page.get_by_role("row", name="nonsubscribed_…")).to_contain_text("left out")
    upload(page, "export.zip", "application/zip", packed(lists), "Exported file")
    expect(page.get_by_role("status")).to_contain_text("These lists are being checked")
    run_workers()
    imports = page.url
    page.get_by_role("link", name=re.compile("^subscribed_")).click()
    page.get_by_label("These readers consented elsewhere").check()
    page.get_by_label("How did they consent?").fill("Our form at Mailchimp")
    page.get_by_role("button", name="as confirmed").click()
    run_workers()
    # With the list of subscribers, Homing also imports the lists of the readers who left.
    for file in ("subscribed", "unsubscribed", "cleaned"):
        page.goto(imports)
        page.get_by_role("link", name=re.compile(f"^{file}_")).click()
        expect(page.get_by_role("heading", name="What happened")).to_be_visible()
    came = results_by_address()
    assert len(came) == sum(len(content.splitlines()) - 1 for content in lists.values())
    assert came == {email: email.partition(".")[0] for email in came}
    mailed = {email for email, result in came.items() if result == "confirmed"}
    assert set(confirmed().values_list("email", flat=True)) == mailed


def test_a_zip_with_one_list_leads_to_its_import(
    new_page: Callable[..., Page], author: Any
) -> None:
    page = new_page(author, java_script_enabled=False)
    page.goto("/admin/newsletters/move/?from=substack")
    expect(page.get_by_role("row", name="email_disabled: true")).to_contain_text("not mailed")
    link = page.get_by_role("link", name="Move in past issues")
    expect(link).to_have_attribute("href", "/admin/newsletters/move/issues/")
    upload(page, "export.zip", "application/zip", packed(SUBSTACK), "Exported file")
    expect(page.get_by_role("heading", level=1)).to_have_text("email_list.swifts.csv")

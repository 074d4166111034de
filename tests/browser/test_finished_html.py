"""Finished HTML in a browser: checked, confirmed and published once."""

import psycopg
import pytest
from playwright.sync_api import Page, expect

from delivery.models import Edition
from idempotency.claim import slot_locks
from publishing.content.edition_content import Content
from publishing.publish.publish_edition import publish
from tests.browser.author_session import (
    ACCEPTED,
    FORM,
    TITLE,
    ask,
    check,
    is_ready,
    write,
)
from tests.browser.conftest import READERS
from tests.browser.pages.accessibility import NARROWEST

pytestmark = pytest.mark.django_db(transaction=True)

WRITTEN = ("title", "preheader", "html_content", "text_content")
WIDE = """
<table><tr><th>Where</th><th>Swallow</th><th>House-martin</th><th>Swift</th></tr>
<tr><td>South Zele, Devonshire</td><td>25 April</td><td>May</td><td>1 May</td></tr></table>
"""


@pytest.fixture
def form(desk: Page) -> Page:
    desk.goto(FORM)
    return is_ready(desk)


def write_html(page: Page) -> str:
    """Fill in the form that publishes, and return the form's key."""
    write(page, "<p>Dear {{ name|reader }}, they have gone.</p>")
    return page.locator("#composer [name=idempotency_key]").input_value()


def back_to_the_form(page: Page) -> None:
    while page.url.removesuffix("/") != page.url.split("/admin/")[0] + FORM.removesuffix("/"):
        page.go_back()


def test_back_without_scripts_never_pairs_old_text_with_new_key(new_page, author, readers):
    page = new_page(author, java_script_enabled=False)
    page.goto(FORM)
    key = write_html(page)
    page.get_by_role("button", name="Check and publish").click()
    page.get_by_role("button", name="Publish to").click()
    page.get_by_role("button", name="Publish to").click()
    expect(page.get_by_text(ACCEPTED)).to_be_visible()

    back_to_the_form(page)

    words = [page.locator(f"[name={name}]").input_value() for name in WRITTEN]
    assert page.locator("[name=idempotency_key]").input_value() == key or not any(words)


def test_waiting_page_polls_until_it_has_the_answer(form, author, database_url):
    key = write_html(form)
    check(form)
    ask(form, READERS)
    with psycopg.connect(database_url, autocommit=True) as others:
        for slot in slot_locks(author.pk, key):  # these locks take every slot of this key
            others.execute("SELECT pg_advisory_lock(%s)", [slot])
        form.get_by_role("dialog").get_by_role("button", name="Publish").click()
        expect(form.get_by_role("heading", level=1)).to_have_text(
            "Your first click is still being processed"
        )
        assert not Edition.objects.exists()
    expect(form.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.count() == 1


def test_horizontal_rule_shows_in_dark_scheme_and_table_fits_phone(new_page, author):
    letter = Content.from_input(title=TITLE, html=WIDE, text="a" * 500)
    published = publish(author.pk, "key", letter, hold_s=0).edition
    page = new_page(color_scheme="dark", viewport=NARROWEST)
    page.set_content(published.html_mail)
    rule = page.locator("td[style*=double]")
    expect(rule).to_have_css("border-bottom-style", "double")
    expect(rule).to_have_css("border-bottom-color", "rgb(25, 148, 180)")

    page.goto(published.archive_url.removeprefix("https://letter.example.org"))
    assert page.locator(".scroll").evaluate_all(
        "tables => tables.map(table => table.scrollWidth - table.clientWidth)"
    ) in ([], [0])
    expect(page.locator("th", has_text="Swallow")).to_have_css("padding-right", "8px")

"""An author at a real browser: write, publish, watch it go out."""

from __future__ import annotations

import re

import psycopg
import pytest
from playwright.sync_api import Page, expect

from delivery.models import Delivery, Edition
from idempotency.claim import seats
from publishing.kept_form import WORDS
from publishing.models import KeptForm
from tests.browser.at_the_desk import ACCEPTED, FORM, TITLE, come_to
from tests.browser.conftest import READERS

pytestmark = pytest.mark.django_db(transaction=True)

PROGRESS = re.compile(r"/admin/newsletters/[0-9a-f-]{36}/")


def write(page: Page, text: str = "Dear {{ name|reader }},\n\nthey have gone.") -> None:
    """Fill in the publishing form."""
    page.get_by_label("Title and subject").fill(TITLE)
    page.get_by_label("HTML").fill("<p>Dear {{ name|reader }}, they have gone.</p>")
    page.get_by_label("Plain text").fill(text)


def press(page: Page) -> None:
    """Press the one button that makes mail leave."""
    page.get_by_role("button", name="Publish").click()


def see_it_go_out(page: Page) -> None:
    """Follow the answer's link, and be there: loaded, with its scripts begun."""
    page.get_by_role("link", name="See it go out").click()
    page.wait_for_url(PROGRESS)


def test_an_author_publishes_and_sees_every_copy_go_out_without_touching_the_page(
    desk, site, provider, readers
):
    write(desk)
    expect(desk.get_by_role("button", name="Publish")).to_have_text(f"Publish to {READERS}")
    press(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_visible()

    see_it_go_out(desk)
    expect(desk.get_by_role("heading", level=1)).to_have_text(TITLE)
    expect(desk.locator("[data-text=count_waiting]").first).to_have_text(str(READERS))
    desk.evaluate("window.notLoadedAgain = true")
    site.deliver()

    expect(desk.locator(".lede")).to_contain_text(f"Succeeded. {READERS} copies went out, one each")
    expect(desk.locator("[data-text=count_sent]").first).to_have_text(str(READERS))
    expect(desk.locator("[data-part=sent]")).to_have_attribute("width", "100.00%")
    expect(desk.get_by_role("status")).to_have_text("Succeeded")
    assert desk.title().startswith("Succeeded: ")
    assert desk.evaluate("window.notLoadedAgain")
    issue = Edition.objects.get().issue_id.hex
    copies = {
        delivery: count
        for delivery, count in provider.sandbox.outbox.copies(bool).items()
        if delivery.startswith(issue)
    }
    assert len(copies) == READERS == Delivery.objects.filter(outcome="sent").count()
    assert set(copies.values()) == {1}


def test_a_double_click_publishes_once(desk, readers):
    write(desk)

    desk.get_by_role("button", name="Publish").dblclick()

    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.count() == 1


def test_the_back_button_shows_the_letter_and_pressing_again_publishes_nothing_more(desk):
    write(desk)
    press(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_visible()

    desk.go_back()
    expect(desk.get_by_label("Title and subject")).to_have_value(TITLE)
    press(desk)

    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.count() == 1


def test_the_back_button_with_other_words_keeps_the_words_and_publishes_nothing_more(desk):
    write(desk)
    press(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_visible()

    desk.go_back()
    desk.get_by_label("Plain text").fill("Something quite different.")
    press(desk)

    expect(desk.get_by_role("heading", level=1)).to_have_text(
        "This form was already published with other content"
    )
    expect(desk.get_by_label("Plain text")).to_have_value("Something quite different.")
    assert Edition.objects.count() == 1


def test_without_scripts_the_back_button_never_shows_old_words_beside_a_fresh_key(
    new_page, author, readers
):
    page = come_to(new_page(java_script_enabled=False), FORM)
    write(page)
    key = page.locator("[name=idempotency_key]").input_value()
    press(page)
    expect(page.get_by_text(ACCEPTED)).to_be_visible()

    page.go_back()

    words = [page.locator(f"[name={name}]").input_value() for name in WORDS]
    assert page.locator("[name=idempotency_key]").input_value() == key or not any(words)


def test_a_letter_of_the_greatest_length_leaves_a_real_browser_whole(desk):
    words = "漢" * 900_000
    desk.get_by_label("Title and subject").fill(TITLE)
    desk.get_by_label("HTML").fill(words)
    desk.get_by_label("Plain text").fill(words)

    press(desk)

    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.get().text_content == words


def test_a_kept_letter_never_stands_beside_the_key_of_a_form_that_was_open_before(desk, author):
    desk.reload()
    KeptForm.objects.create(
        writer=author, key="its-own-key", title=TITLE, html_content="", text_content="Kept."
    )

    desk.reload()

    expect(desk.get_by_label("Plain text")).to_have_value("Kept.")
    expect(desk.locator("form[data-once] [name=idempotency_key]")).to_have_value("its-own-key")


def test_a_letter_survives_that_its_page_is_loaded_again(desk):
    write(desk)
    key = desk.locator("[name=idempotency_key]").input_value()
    desk.on("dialog", lambda dialog: dialog.accept())

    desk.reload()

    expect(desk.get_by_label("Title and subject")).to_have_value(TITLE)
    expect(desk.locator("[name=idempotency_key]")).to_have_value(key)


def test_who_leaves_an_unfinished_letter_is_asked_and_finds_it_on_coming_back(desk):
    write(desk)
    key = desk.locator("[name=idempotency_key]").input_value()
    asked = []
    desk.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))

    desk.get_by_role("link", name="Issues", exact=True).first.click()
    expect(desk.get_by_role("heading", level=1)).to_have_text("The desk")
    desk.go_back()

    assert asked == ["beforeunload"]
    expect(desk.get_by_label("Title and subject")).to_have_value(TITLE)
    expect(desk.locator("[name=idempotency_key]")).to_have_value(key)
    press(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.count() == 1


def test_who_comes_back_finds_the_box_as_they_left_it_with_the_words_of_its_key(desk):
    write(desk)
    desk.get_by_label("Unlisted: not meant for the public").check()
    press(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_visible()

    desk.go_back()

    expect(desk.get_by_label("Title and subject")).to_have_value(TITLE)
    expect(desk.get_by_label("Unlisted: not meant for the public")).to_be_checked()
    press(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.get().issue.unlisted


def test_a_second_tab_with_other_words_keeps_the_words_and_publishes_nothing_more(desk):
    write(desk)
    key = desk.locator("[name=idempotency_key]").input_value()
    second_tab = desk.context.new_page()
    second_tab.goto("/admin/newsletters/")
    # What a browser does that duplicates a tab: the same form, with the same key.
    second_tab.locator("[name=idempotency_key]").evaluate("(field, key) => field.value = key", key)
    press(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_visible()

    write(second_tab, text="Something quite different.")
    press(second_tab)

    expect(second_tab.get_by_role("heading", level=1)).to_have_text(
        "This form was already published with other content"
    )
    expect(second_tab.get_by_label("Plain text")).to_have_value("Something quite different.")
    assert Edition.objects.count() == 1
    press(second_tab)
    expect(second_tab.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.count() == 2


def test_an_error_is_announced_first_and_leads_to_its_field(desk):
    write(desk, text="Dear {{ nmae }}")
    press(desk)

    summary = desk.get_by_role("alert")
    expect(summary).to_be_focused()
    expect(summary).to_contain_text("The form has one error. Your text is still here")
    summary.get_by_role("link", name="Plain text").click()
    expect(desk.get_by_label("Plain text")).to_be_focused()
    expect(desk.get_by_label("Plain text")).to_have_value("Dear {{ nmae }}")


def test_a_page_that_has_to_wait_looks_again_by_itself_until_it_has_the_answer(
    desk, author, readers, database_url
):
    write(desk)
    key = desk.locator("[name=idempotency_key]").input_value()
    with psycopg.connect(database_url, autocommit=True) as others:
        for seat in seats(author.pk, key):  # they sit on every seat of this key
            others.execute("SELECT pg_advisory_lock(%s)", [seat])
        press(desk)
        expect(desk.get_by_role("heading", level=1)).to_have_text(
            "Still working on your first click"
        )
        assert not Edition.objects.exists()

    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    assert Edition.objects.count() == 1


def test_everything_works_without_scripts(new_page, author, site, readers):
    page = come_to(new_page(java_script_enabled=False), FORM)
    write(page)
    press(page)
    expect(page.get_by_text(ACCEPTED)).to_be_visible()
    site.deliver()

    see_it_go_out(page)

    expect(page.locator(".lede")).to_contain_text("Succeeded.")


def test_no_bar_lies_over_words_that_came_back_as_already_published(desk):
    write(desk)
    key = desk.locator("[name=idempotency_key]").input_value()
    press(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    write(desk, text="Dear {{ name|reader }}, they came back.")
    desk.wait_for_load_state()
    assert desk.locator(".dock").evaluate("bar => getComputedStyle(bar).position") == "sticky"
    desk.locator("[name=idempotency_key]").evaluate("(field, key) => field.value = key", key)
    press(desk)

    expect(desk.get_by_role("button", name="Publish to ")).to_be_attached()
    assert desk.locator(".dock").evaluate("bar => getComputedStyle(bar).position") == "static"


def test_a_letter_in_the_dark_keeps_the_rule_under_the_name_of_the_newsletter(new_page, desk):
    write(desk)
    press(desk)
    expect(desk.get_by_text(ACCEPTED)).to_be_visible()
    mail = new_page(color_scheme="dark")
    mail.set_content(Edition.objects.get().html_mail)

    rule = mail.locator("td[style*=double]").evaluate(
        "cell => { const style = getComputedStyle(cell);"
        " return [style.borderBottomStyle, style.borderBottomColor]; }"
    )
    assert rule == ["double", "rgb(117, 132, 139)"]


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_no_page_scrolls_sideways_on_the_smallest_phone(new_page, author, readers, colour_scheme):
    page = come_to(
        new_page(viewport={"width": 320, "height": 640}, color_scheme=colour_scheme), FORM
    )
    write(page, text="a" * 500)
    page.get_by_label("HTML").fill(
        "<table><tr><th>Where</th><th>Swallow</th><th>House-martin</th><th>Swift</th></tr>"
        "<tr><td>South Zele, Devonshire</td><td>25 April</td><td>May</td><td>1 May</td></tr>"
        "</table>"
    )
    press(page)
    see_it_go_out(page)
    progress = page.url

    for address in (
        "/admin/newsletters/",
        "/admin/newsletters/issues/",
        progress,
        f"{progress}?outcome=waiting",
        "/archive/",
        "/archive/swifts-leave-without-saying-goodbye/",
    ):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, address
        tables = page.locator(".scroll").evaluate_all(
            "tables => tables.map(table => table.scrollWidth - table.clientWidth)"
        )
        assert not any(tables), address
    # The last page is the letter's own.
    expect(page.locator("th", has_text="Swallow")).to_have_css("padding-right", "8px")

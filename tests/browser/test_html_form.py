"""The form for finished HTML in a browser loses no text and publishes once."""

import psycopg
import pytest
from playwright.sync_api import Page, expect

from delivery.models import Delivery, Edition
from idempotency.claim import slot_locks
from publishing.content.edition_content import Content
from publishing.models import Draft
from publishing.publish.html_form import WRITTEN_FIELDS
from publishing.publish.publish import publish
from subscribers.models import Subscriber, Tag
from tests.browser.author_session import (
    ACCEPTED,
    FORM,
    TITLE,
    ask,
    check,
    copies_of,
    edition,
    is_saved,
    late,
    publish_to,
    succeeded,
)
from tests.browser.conftest import READERS
from tests.browser.pages.accessibility import NARROWEST

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = "Something quite different."
WIDE = """
<table><tr><th>Where</th><th>Swallow</th><th>House-martin</th><th>Swift</th></tr>
<tr><td>South Zele, Devonshire</td><td>25 April</td><td>May</td><td>1 May</td></tr></table>
"""


@pytest.fixture
def form(desk: Page) -> Page:
    desk.goto(FORM)
    return desk


def write(page: Page, text: str = "Dear {{ name|reader }},\n\nthey have gone.") -> str:
    """Fill in the publishing form; return its key."""
    page.get_by_label("Title and subject").fill(TITLE)
    page.get_by_label("HTML").fill("<p>Dear {{ name|reader }}, they have gone.</p>")
    page.get_by_label("Plain text").fill(text)
    return page.locator("form[data-once] [name=idempotency_key]").input_value()


def press(page: Page, *, editions: int = 1) -> None:
    """Check and publish the form; expect this number of editions afterwards."""
    check(page)
    publish_to(page, READERS, double_click=True)
    assert Edition.objects.filter(kind="newsletter").count() == editions


def position_of_bar(page: Page) -> str:
    return str(page.locator(".dock").evaluate("bar => getComputedStyle(bar).position"))


def test_double_click_checks_once_and_publishes_once(form, site, provider, readers):
    key = write(form)
    form.get_by_role("button", name="Check and publish").dblclick()
    expect(form.get_by_role("heading", level=1)).to_have_text("Before it goes out")
    assert Draft.objects.get().key == key
    assert not Edition.objects.exists()

    publish_to(form, READERS, double_click=True)

    expect(form.get_by_role("heading", level=1)).to_have_text(TITLE)
    site.deliver()
    succeeded(form, f"Succeeded. Postmark accepted {READERS} copies")
    assert copies_of(provider, edition()) == {one.email: 1 for one in readers}
    assert Delivery.objects.filter(outcome="sent").count() == READERS


def test_an_issue_goes_to_the_readers_with_a_tag(form, site, provider, readers):
    tag = Tag.objects.create(name="Birds")
    birds = [reader.pk for reader in readers[:7]]
    Subscriber.objects.filter(pk__in=birds).update(tags=[tag.pk])
    form.reload()
    write(form)
    form.get_by_text("Choose readers by tag").click()
    form.get_by_role("group", name="Only readers").get_by_label("Birds").check()
    check(form)
    expect(form.get_by_text("with “Birds”").first).to_be_visible()
    publish_to(form, len(birds))
    assert edition().with_tags == [[tag.pk, "Birds"]]
    assert set(Delivery.objects.values_list("recipient", flat=True)) == {*birds}


def back_to_the_form(page: Page) -> None:
    while page.url.removesuffix("/") != page.url.split("/admin/")[0] + FORM.removesuffix("/"):
        page.go_back()


def test_text_and_choice_can_be_changed_after_going_back(form):
    write(form)
    form.get_by_label("Archive").select_option("Unlisted")
    assert position_of_bar(form) == "sticky"
    check(form)
    form.go_back()
    expect(form.get_by_label("Title and subject")).to_have_value(TITLE)
    form.get_by_label("Plain text").fill("Better words.")
    press(form)
    assert Draft.objects.count() == 1
    assert edition().issue.unlisted
    assert edition().text_content == "Better words."

    # The same form leads to the published issue; another text becomes a new draft.
    back_to_the_form(form)
    expect(form.get_by_label("Archive")).to_have_value("on")
    form.get_by_role("button", name="Check and publish").click()
    expect(form.get_by_role("heading", level=1)).to_have_text(TITLE)
    back_to_the_form(form)
    form.get_by_label("Plain text").fill(OTHER)
    form.get_by_role("button", name="Check and publish").click()
    expect(form.get_by_role("heading", level=1)).to_have_text("This draft was published")
    form.get_by_role("button", name="Save mine as a copy").click()
    is_saved(form)
    press(form, editions=2)


def test_letter_is_kept_although_the_script_loads_late(desk):
    with late(desk, "publishing-form", FORM):
        write(desk)
    desk.get_by_role("link", name="Issues", exact=True).first.click()
    expect(desk.get_by_role("heading", level=1)).to_have_text("Issues")
    desk.unroute_all()

    desk.go_back()

    expect(desk.get_by_label("Title and subject")).to_have_value(TITLE)


def test_back_without_scripts_never_pairs_old_text_with_new_key(new_page, author, readers):
    page = new_page(author, java_script_enabled=False)
    page.goto(FORM)
    key = write(page)
    page.get_by_role("button", name="Check and publish").click()
    page.get_by_role("button", name="Publish to").click()
    page.get_by_role("button", name="Publish to").click()
    expect(page.get_by_text(ACCEPTED)).to_be_visible()

    back_to_the_form(page)

    words = [page.locator(f"[name={name}]").input_value() for name in WRITTEN_FIELDS]
    assert page.locator("[name=idempotency_key]").input_value() == key or not any(words)


def test_letter_survives_reload_and_leaving_the_page(form):
    asked = []
    form.on("dialog", lambda dialog: asked.append(dialog.type))
    key = write(form)

    form.reload()
    expect(form.get_by_label("Title and subject")).to_have_value(TITLE)
    expect(form.locator("[name=idempotency_key]")).to_have_value(key)
    form.get_by_label("Plain text").fill(OTHER)
    asked.clear()
    form.get_by_role("link", name="Issues", exact=True).first.click()
    expect(form.get_by_role("heading", level=1)).to_have_text("Issues")
    assert asked == ["beforeunload"]

    form.go_back()
    expect(form.get_by_label("Plain text")).to_have_value(OTHER)
    expect(form.locator("[name=idempotency_key]")).to_have_value(key)
    press(form)


def test_waiting_page_polls_until_it_has_the_answer(form, author, database_url):
    key = write(form)
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


def test_test_letter_opens_its_own_window_and_the_text_stays(form, site):
    form.get_by_label("Title and subject").fill(TITLE)
    form.get_by_label("Plain text").fill("They have gone.")
    field = form.get_by_label("Send a test to")
    field.fill("willa@elsewhere.example")
    # The Enter key must press no button, because the nearest button would publish.
    field.press("Enter")
    form.get_by_label("Title and subject").press("Enter")
    assert not Edition.objects.exists()

    with form.expect_popup() as opened:
        form.get_by_role("button", name="Send a test").click()
    window = opened.value
    expect(window.get_by_role("status")).to_contain_text("It waits for a worker")
    site.deliver()
    expect(window.get_by_role("status")).to_contain_text("Postmark accepted it at")
    window.get_by_role("link", name="Read it in the sandbox inbox").click()
    expect(window.get_by_role("heading", name=f"[Test] {TITLE}")).to_be_visible()

    assert Edition.objects.get().kind == "test"
    assert form.get_by_label("Title and subject").input_value() == TITLE
    press(form)


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

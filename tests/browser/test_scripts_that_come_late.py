"""On a slow line an author types before the scripts are there: nothing of it is lost or misread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from delivery.models import Edition
from publishing import drafts
from publishing.drafts import Wording
from publishing.models import Draft
from publishing.written import MARKDOWN, Written
from tests.browser.at_the_desk import TITLE, ask, is_saved
from tests.browser.conftest import READERS
from tests.browser.test_publishing_in_a_browser import write
from tests.publishing.scheduling_desk import tomorrow

pytestmark = pytest.mark.django_db(transaction=True)


class Late:
    """Scripts that are asked for and on their way, until they come."""

    def __init__(self, page: Page, *names: str) -> None:
        self._page = page
        self._waiting: list[Route] = []
        for name in names:
            page.route(f"**/{name}*.js", lambda route: self._waiting.append(route))

    def open(self, address: str) -> None:
        """Come to a page whose scripts are late."""
        with self._page.expect_request("**/*.js"):
            self._page.goto(address, wait_until="commit")

    def come(self) -> None:
        """Now they are there, and have begun."""
        for route in self._waiting:
            route.continue_()
        self._page.wait_for_load_state()


@pytest.fixture
def sheet(author: Any) -> str:
    """The address of the sheet before a draft of hers is published."""
    words = Written(TITLE, "", MARKDOWN, "They have *gone*.", "")
    draft = drafts.begin(author.pk, "its-key", Wording(words)).draft
    return f"/admin/newsletters/drafts/{draft.pk}/check/"


def test_a_letter_is_kept_from_its_first_word(desk: Page) -> None:
    script = Late(desk, "publishing-form")
    script.open("/admin/newsletters/")
    write(desk)
    script.come()

    desk.on("dialog", lambda dialog: dialog.accept())
    desk.get_by_role("link", name="Issues", exact=True).first.click()
    expect(desk.get_by_role("heading", level=1)).to_have_text("The desk")
    desk.unroute_all()
    desk.go_back()

    expect(desk.get_by_label("Title and subject")).to_have_value(TITLE)


def test_words_of_the_composer_are_saved(desk: Page) -> None:
    script = Late(desk, "composer")
    script.open("/admin/newsletters/write/")
    desk.get_by_label("Title and subject").fill(TITLE)
    script.come()

    is_saved(desk)
    assert Draft.objects.get().title == TITLE


def test_who_names_a_time_means_it(desk: Page, sheet: str) -> None:
    moment = tomorrow("UTC")
    script = Late(desk, "when")
    script.open(sheet)
    desk.get_by_label("Date and time").fill(moment.local)
    script.come()

    expect(desk.get_by_label("At a time")).to_be_checked()
    desk.get_by_role("button", name="Schedule…").click()
    expect(desk.get_by_role("dialog")).to_contain_text(moment.words)


def test_who_means_now_after_all_names_no_time_and_finds_it_again_on_changing_back(
    desk: Page, sheet: str
) -> None:
    desk.goto(sheet)
    named = tomorrow("UTC").local
    field = desk.get_by_label("Date and time")
    field.fill(named)
    desk.get_by_label("Now", exact=False).check()
    expect(field).to_have_value("")
    desk.get_by_label("At a time").check()
    expect(field).to_have_value(named)

    desk.get_by_label("Now", exact=False).check()
    ask(desk, READERS)
    dialog = desk.get_by_role("dialog", name=f"Publish to {READERS} readers?")
    dialog.get_by_role("button", name="Publish").click()

    expect(desk.get_by_role("status")).to_have_text("Sending")
    assert Edition.objects.get().control == "running"


def test_a_time_beside_now_is_asked_about_where_no_script_ever_comes(
    new_page: Callable[..., Page], author: Any, readers: Any, sheet: str
) -> None:
    page = new_page(author, java_script_enabled=False)
    page.goto(sheet)
    page.get_by_label("Date and time").fill(tomorrow("UTC").local)
    ask(page, READERS)

    expect(page.locator("#when-at-error")).to_contain_text("tick “At a time”, or take the time")
    assert not Edition.objects.exists()
    page.get_by_label("At a time").check()
    ask(page, READERS)
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Schedule it for {READERS} readers?")

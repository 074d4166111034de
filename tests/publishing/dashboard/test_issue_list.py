"""The desk's list of issues: tabs, searches, orders and earlier versions."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from delivery.models import Edition
from delivery.queue import edition_control
from publishing.editions.start_scheduled import start_due
from publishing.models import Draft
from subscribers.models import Subscriber
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import Page, WindowOf, address
from tests.publishing.dashboard.desk_page import DESK, lede, section, titles
from tests.publishing.edition_states import cancelled, sent
from tests.publishing.schedule_issue import make_edition_due, tomorrow

pytestmark = pytest.mark.django_db(transaction=True)


def test_drafts_come_before_scheduled_and_published_issues(
    window: WindowOf, author: Any, publish_one: Callable[..., Edition]
) -> None:
    publish_one("On the patience of herons")
    publish_one("A storm, and what it took")
    at = tomorrow()
    publish_one("Notes from a wet orchard", at=at)
    Draft.objects.create(
        title="A moth at the lamp", letter="<p>Dear <b>all</b> of you</p>", saved_by=author
    )
    gone_out = publish_one("Swifts")
    Draft.objects.create(title="Swifts", letter="They left.", edition=gone_out)

    page = window.get(DESK)
    assert titles(page) == [
        "A moth at the lamp",
        "Notes from a wet orchard",
        "Swifts",
        "A storm, and what it took",
        "On the patience of herons",
    ]
    assert at.words in section(page, "issues")
    assert at.words in lede(page)


def test_only_users_who_may_write_see_drafts(window: WindowOf, new_author: Any) -> None:
    Draft.objects.create(title="A moth at the lamp")
    assert titles(WindowOf(new_author("ines", "write_draft")).get(DESK)) == ["A moth at the lamp"]
    looker = WindowOf(new_author("olaf", "view_issue"))
    for show in ("", "?show=drafts"):
        page = looker.get(DESK + show)
        assert "A moth at the lamp" not in page.words
        assert ">Drafts<" not in page.html


def test_a_tab_shows_only_its_own_issues(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    Draft.objects.create(title="A moth at the lamp")
    publish_one("Swifts")
    sent(publish_one("Herons"))
    cancelled(publish_one("Lanterns"))

    def shown(tab: str) -> list[str]:
        return titles(window.get(f"{DESK}?show={tab}"))

    assert shown("drafts") == ["A moth at the lamp"]
    assert shown("going-out") == ["Swifts"]
    assert shown("ended") == ["Lanterns", "Herons"]
    assert shown("scheduled") == []
    assert len(shown("no-such-tab")) == 4


def test_issues_are_found_by_a_part_of_their_title(
    window: WindowOf, publish_one: Callable[..., Edition]
) -> None:
    for title in ("Swifts leave", "On herons", "100 % rain"):
        publish_one(title)
    Draft.objects.create(title="More {{ name|swifts }}")
    assert titles(window.get(f"{DESK}?q=SWIFTS")) == ["More swifts", "Swifts leave"]
    assert titles(window.get(f"{DESK}?q=%25")) == ["100 % rain"]
    assert "<b>moths" not in window.get(f"{DESK}?q=%3Cb%3Emoths%00").html


def test_a_called_back_issue_is_one_row_with_its_draft(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("Swifts leave", hold_s=600)
    window.post(address(edition, "call-back/"))
    Draft.objects.update(title="Swifts return")

    page = window.get(DESK)
    assert titles(page) == ["Swifts return"]
    assert f'href="/admin/newsletters/{edition.issue_id}/?version=1"' in page.html
    assert "Version 1 was stopped and sent to nobody." in page.words
    assert titles(window.get(f"{DESK}?q=leave")) == ["Swifts return"]
    assert titles(window.get(f"{DESK}?show=ended")) == []
    Draft.objects.all().delete()
    assert titles(window.get(DESK)) == ["Swifts leave"]


def test_a_called_back_correction_leaves_the_sent_version(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    first = publish_one("Swifts leave")
    sent(first)
    second = publish_one("Swifts stay", issue=first.issue_id, version=2, hold_s=600)
    window.post(address(second, "call-back/"))

    page = window.get(DESK)
    assert titles(page) == ["Swifts stay", "Swifts leave"]
    assert "Version 2 was stopped and sent to nobody." in page.words
    Draft.objects.all().delete()
    row = row_of_issues(window.get(DESK))
    assert "3 of 3 sent" in row
    assert "Version 2 was called back." in row


def test_the_list_of_issues_can_be_sorted(
    window: WindowOf, publish_one: Callable[..., Edition]
) -> None:
    names = [f"Letter {number}" for number in range(14)]
    for name in names:
        publish_one(name)
    for name in ("Zinnias", "Asters"):
        Draft.objects.create(title=name)

    def all_pages(query: str) -> list[str]:
        found, page = [], window.get(f"{DESK}?{query}")
        while True:
            found += titles(page)
            following = re.search(r'href="([^"#]*)#issues" rel="next"', page.html)
            if following is None:
                return found
            page = window.get(following[1].replace("&amp;", "&"))

    assert all_pages("sort=oldest") == ["Zinnias", "Asters", *names]
    assert all_pages("sort=title") == ["Asters", "Zinnias", *sorted(names)]
    newest = ["Asters", "Zinnias", *reversed(names)]
    assert all_pages("") == all_pages("sort=published_at") == newest
    assert 'sort=title#issues" aria-current="true">Title' in window.get(f"{DESK}?sort=title").html


def test_a_new_issue_does_not_shift_the_next_page(
    window: WindowOf, publish_one: Callable[..., Edition]
) -> None:
    for number in range(30):
        publish_one(f"Letter {number}")
    # Give all issues the same time.
    Edition.objects.update(published_at=Edition.objects.first().published_at)
    page = window.get(DESK)
    found = titles(page)
    assert len(found) == 12
    publish_one("Something new")
    for _ in range(2):
        older = re.search(r'href="([^"#]*)#issues" rel="next"', page.html)
        page = window.get(older[1].replace("&amp;", "&"))
        found += titles(page)
    assert 'rel="next"' not in page.html
    assert found == [f"Letter {number}" for number in range(29, -1, -1)]
    assert titles(window.get(f"{DESK}?before=1")) == []
    assert len(titles(window.get(f"{DESK}?before=nothing"))) == 12


def test_drafts_have_pages_too(window: WindowOf) -> None:
    for number in range(15):
        Draft.objects.create(title=f"Draft {number}")
    beside = window.get(DESK)
    assert titles(beside) == ["Draft 14", "Draft 13", "Draft 12"]
    first = window.get(f"{DESK}?show=drafts")
    older = re.search(r'href="([^"#]*)#issues" rel="next"', first.html)[1]
    second = window.get(older.replace("&amp;", "&"))
    assert titles(first) + titles(second) == [f"Draft {n}" for n in range(14, -1, -1)]


def row_of_issues(page: Page) -> str:
    issues = page.html.partition('id="issues"')[2].partition("</section>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", issues).split())


def test_a_page_correction_shows_the_numbers_of_the_send(
    window: WindowOf,
    new_author: Callable[..., Any],
    publish_one: Callable[..., Edition],
    three_readers: list[Subscriber],
) -> None:
    first = publish_one("Herons")
    sent(first)
    publish_one("Terns")
    fixed = publish_one("Herons, fixed", issue=first.issue_id, version=2, goes_to="nobody")
    page = window.get(DESK)
    row = row_of_issues(page)
    assert "3 of 3 sent" in row
    assert re.search(r"The page was corrected on \d+ \w+ \d{4}\.", row)
    assert "archive only" not in row
    # Issues are sorted by the time that their rows show.
    assert titles(page) == ["Terns", "Herons, fixed"]
    assert titles(window.get(f"{DESK}?sort=oldest")) == ["Herons, fixed", "Terns"]
    assert f"/admin/newsletters/{first.issue_id}/?version=1" in page.html
    head = window.get(f"/admin/newsletters/{first.issue_id}/")
    assert "Version 1: 3 of 3 sent. View its numbers" in head.words
    assert "0 of 0 sent" not in head.words
    assert f"/admin/newsletters/{first.issue_id}/?version=1" in head.html
    program = Program(new_author("root", is_superuser=True))
    listed, _ = program.get("/issues/").json()["issues"]
    assert (listed["version"], listed["sent"], listed["title"]) == (1, 3, "Herons, fixed")
    assert listed["page_corrected_at"][:19] == f"{fixed.published_at:%Y-%m-%dT%H:%M:%S}"


def test_a_scheduled_correction_leaves_the_send_in_its_row(
    window: WindowOf,
    new_author: Callable[..., Any],
    publish_one: Callable[..., Edition],
    three_readers: list[Subscriber],
) -> None:
    first = publish_one("Herons")
    sent(first)
    second = publish_one("Herons, fixed", issue=first.issue_id, version=2, at=tomorrow())
    page = window.get(DESK)
    assert titles(page) == ["Herons, fixed", "Herons"]
    row = row_of_issues(page)
    assert "3 of 3 sent" in row
    assert "Version 2 is scheduled." in row
    assert f'href="/admin/newsletters/{first.issue_id}/?version=1"' in page.html
    assert titles(window.get(f"{DESK}?show=ended")) == ["Herons"]
    program = Program(new_author("root", is_superuser=True))
    (listed,) = program.get("/issues/").json()["issues"]
    assert (listed["version"], listed["sent"], listed["title"]) == (1, 3, "Herons")

    make_edition_due(second)
    assert start_due()
    page = window.get(DESK)
    assert titles(page) == ["Herons, fixed"]
    assert "0 of 3 sent" in row_of_issues(page)


def test_a_scheduled_version_replaces_one_sent_to_nobody(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    first = publish_one("Herons", hold_s=600)
    edition_control.call_back(first.pk)
    publish_one("Herons again", issue=first.issue_id, version=2, at=tomorrow())
    assert titles(window.get(DESK)) == ["Herons again"]

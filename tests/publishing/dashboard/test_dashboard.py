"""The desk: things to do, sending, issues, readers, health and the log."""

import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from delivery.models import Alarm, Batch, Edition, Newsletter
from delivery.monitoring import worker_heartbeat
from delivery.queue import control, scheduled_editions
from delivery.reconcile import database_identity
from publishing.approval.approval import approval_hash, approve
from publishing.editions.audience import TagChoice
from publishing.editions.start_scheduled import start_due
from publishing.external_checks.cached_results import DOMAIN, save
from publishing.external_checks.domain_records import DnsStatus, Records
from publishing.models import Draft
from publishing.publish.publish import publish
from subscribers.models import Subscriber, Tag
from tests.delivery.because import because
from tests.newsletter_site.api_caller import Program
from tests.publishing.author_browser import Page, WindowOf, address
from tests.publishing.content_factory import letter
from tests.publishing.edition_states import cancelled, in_doubt, sent
from tests.publishing.preflight.context_factory import domain, records
from tests.publishing.schedule_issue import make_edition_due, tomorrow
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

pytestmark = pytest.mark.django_db(transaction=True)

DESK = "/admin/newsletters/issues/"


@pytest.fixture
def publish_one(author: Any) -> Callable[..., Edition]:
    """Publish a letter of this title without a hold."""

    def make(title: str = "Herons", **how: Any) -> Edition:
        return publish(
            author.pk, f"key-{title}", letter(title), hold_s=how.pop("hold_s", 0), **how
        ).edition

    return make


def a_worker() -> None:
    worker_heartbeat.beat(uuid.uuid4(), host="letterbox", pid=4711)


def section(page: Page, name: str) -> str:
    """Return the text of a section of the page; empty without one."""
    found = re.search(
        rf'<section class="sec" aria-labelledby="{name}">(.*?)</section>', page.html, re.S
    )
    return " ".join(re.sub(r"<[^>]+>", " ", found[1]).split()) if found else ""


def titles(page: Page) -> list[str]:
    """Return the titles in the section of issues, from the top."""
    issues = page.html.partition('id="issues"')[2].partition("</section>")[0]
    return re.findall(r'class="title"[^>]*>([^<]+)<', issues)


def lede(page: Page) -> str:
    return " ".join(re.search(r'<p class="lede">(.*?)</p>', page.html, re.S)[1].split())


def stop(edition: Edition, reason: str) -> None:
    Batch.objects.filter(edition=edition, state="ready").update(state="paused")
    Edition.objects.filter(pk=edition.pk).update(control="stopped", control_reason=reason)


def test_a_stopped_edition_shows_its_reason_and_its_action(
    window: WindowOf,
    new_author: Any,
    publish_one: Callable[..., Edition],
    three_readers: list[Subscriber],
) -> None:
    assert "Herons" not in window.get(DESK).words
    edition = publish_one()
    stop(edition, "Postmark refuses the sender. Confirm it, then resume.")
    resume = f"/admin/newsletters/{edition.issue_id}/resume/?version=1"

    page = window.get(DESK)
    assert "Postmark refuses the sender." in section(page, "need")
    assert f'href="{resume}"' in page.html
    # A viewer gets no buttons.
    looker = WindowOf(new_author("ines", "view_issue")).get(DESK)
    assert "Postmark refuses the sender." in section(looker, "need")
    assert resume not in looker.html
    assert "/write/" not in looker.html

    window.post(resume)
    a_worker()
    assert section(window.get(DESK), "need") == ""


def test_the_foot_of_a_page_names_the_release(window: WindowOf) -> None:
    assert f"Homing {settings.RELEASE}" in window.get(DESK).words.rpartition("Archive")[2]


def test_a_missing_worker_is_reported_once(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    assert section(window.get(DESK), "need") == ""
    publish_one("Herons")
    publish_one("Swifts")
    assert section(window.get(DESK), "need").count("2 issues") == 1
    a_worker()
    assert section(window.get(DESK), "need") == ""


def test_a_due_issue_without_a_worker_is_reported(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("Swifts", at=tomorrow())
    before = window.get(DESK)
    assert section(before, "need") == ""

    make_edition_due(edition)
    page = window.get(DESK)
    assert section(page, "need")
    assert "Goes out" not in section(page, "issues")
    assert "goes out" not in lede(page)
    # An open page is asked to refresh.
    assert IS_OLD.search(polled(window, f"?listed={contents(before.html)}"))

    a_worker()
    assert section(window.get(DESK), "need") == ""

    Edition.objects.update(scheduled_for=timezone.now() + timedelta(hours=1))
    assert "goes out" in lede(window.get(DESK))
    database_identity.declare_restored()
    assert "goes out" not in lede(window.get(DESK))
    assert "Swifts" in section(window.get(DESK), "need")


def test_an_alarm_is_shown_until_it_is_acknowledged(
    window: WindowOf, new_author: Any, publish_one: Callable[..., Edition]
) -> None:
    edition = publish_one()
    for number in (1, 2):
        Alarm.objects.create(
            edition=edition,
            kind="accepted_twice",
            about=str(number),
            reason=because(f"Copy {number}."),
        )
    page = window.get(DESK)
    need = section(page, "need")
    assert "Copy 2. This issue has 1 more alarm." in need
    form = page.form_with("up_to")

    # A viewer sees the alarm and cannot acknowledge it.
    looker = WindowOf(new_author("ines", "write_draft"))
    assert not looker.get(DESK).has_form_with("up_to")
    assert looker.post(form.action, **form.fields).status == 403

    Alarm.objects.create(
        edition=edition, kind="bounce_threshold", about="3", reason=because("Too many bounces.")
    )
    assert window.post(form.action, **form.fields).answer["Location"] == DESK
    need = section(window.get(DESK), "need")
    assert "Too many bounces." in need
    assert "Copy 2." not in need
    # Invalid fields change nothing.
    for fields in ({}, {"edition": "x", "up_to": "1"}, {"edition": "9" * 30}):
        assert window.post(f"{DESK}alarms/", **fields).status == 303
    assert Alarm.objects.filter(seen_by=window.author.pk).count() == 2


def test_a_checked_import_is_shown_to_managers_of_readers(
    window: WindowOf, new_author: Any
) -> None:
    waiting = SubscriberImportFactory(
        state="checked", confirmed=False, finished_at=None, checked_at=timezone.now(),
        filename="village-fair.csv", rows=7, added=4, known=3,
    )  # fmt: skip
    assert "village-fair.csv" not in window.get(DESK).words

    page = WindowOf(new_author("tom", "manage_readers")).get(DESK)
    need = section(page, "need")
    assert "village-fair.csv" in need
    assert "Rows to add: 4 of 7" in need
    assert f'href="/admin/newsletters/imports/{waiting.pk}/"' in page.html


def test_a_draft_needs_approval_only_if_the_setting_is_on(
    window: WindowOf, new_author: Any
) -> None:
    writer = new_author("tom", "write_draft", first_name="Tomás", last_name="Brandão")
    draft = Draft.objects.create(title="A moth at the lamp", letter="Dear all", saved_by=writer)
    assert section(window.get(DESK), "need") == ""

    Newsletter.objects.get_current()
    Newsletter.objects.update(second_person=True)
    need = section(window.get(DESK), "need")
    assert "A moth at the lamp" in need
    assert "Tomás Brandão" in need
    # The author who saved it cannot approve it.
    assert section(WindowOf(writer).get(DESK), "need") == ""

    # The approval counts only while the approver may publish.
    giver = new_author("basil", "publish_edition")
    approve(draft.pk, giver.pk, approval_hash(draft))
    assert section(window.get(DESK), "need") == ""
    giver.user_permissions.clear()
    assert "A moth at the lamp" in section(window.get(DESK), "need")


@pytest.mark.parametrize("where", ["", "?show=ended", "?q=nothing+like+it"])
def test_the_headline_counts_all_things_to_do(
    window: WindowOf, new_author: Any, publish_one: Callable[..., Edition], where: str
) -> None:
    for number in range(7):
        Draft.objects.create(title=f"Moth {number}", letter="Dear all")
    Draft.objects.create(title="One of one's own", letter="Dear all", saved_by=window.author)
    checked = {"state": "checked", "confirmed": False, "finished_at": None}
    # Nothing can be imported from the second one.
    SubscriberImportFactory(**checked, checked_at=timezone.now(), rows=1, added=1)
    SubscriberImportFactory(**checked, checked_at=timezone.now(), rows=1, rejected=1)
    for title in ("Herons", "Swifts"):
        edition = publish_one(title)
        for about in "12":
            Alarm.objects.create(
                edition=edition, kind="bounce_threshold", about=about, reason=because("Too many.")
            )

    Newsletter.objects.get_current()
    Newsletter.objects.update(second_person=True)
    assert "9 things" in lede(window.get(DESK + where))
    manager = new_author("tom", "publish_edition", "manage_readers")
    assert "11 things" in lede(WindowOf(manager).get(DESK + where))


def test_an_issue_being_sent_shows_counts_bar_and_sentence(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("Swifts")
    a_worker()
    sent(edition, "Ada")
    in_doubt(edition, "Bram")
    Batch.objects.update(state="ready", unknown_since=None)

    page = window.get(DESK)
    going = section(page, "now")
    assert "Swifts 1 of 3 sent" in going
    assert "1 copy is unconfirmed" in going
    assert 'aria-label="sent: 1, unconfirmed: 1, waiting: 1, audience: 3"' in page.html
    assert "“Swifts”" in lede(page)


def polled(window: WindowOf, query: str = "") -> str:
    """Return the answer to a poll of an open page."""
    answer = window.client.get(f"{DESK}{query}", secure=True, headers={"HX-Request": "true"})
    return answer.content.decode()


def contents(html: str) -> str:
    """Return the contents that an open page sends with its poll."""
    return quote(re.search(r'id="listed" value="([^"]*)"', html)[1])


IS_OLD = re.compile(r'id="news" data-hx-swap-oob="morph"\s*>')


def test_a_poll_returns_the_list_only_if_it_changed(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    edition = publish_one("Swifts")
    a_worker()
    listed = contents(window.get(DESK).html)
    first = polled(window, f"?listed={listed}")
    assert 'id="sending-list"' in first
    assert not IS_OLD.search(first)
    seen = re.search("seen=([0-9a-f]+)", first)[1]

    def again() -> str:
        return polled(window, f"?listed={listed}&seen={seen}")

    unchanged = again()
    assert 'id="sending-list"' not in unchanged
    assert re.search(r"Updated \d\d:\d\d:\d\d", unchanged)

    sent(edition, "Ada")
    news = again()
    assert "<b>1</b> of 3 sent" in news
    assert not IS_OLD.search(news)

    sent(edition)
    ended = again()
    assert IS_OLD.search(ended)
    assert 'id="edition-' not in ended


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
    Edition.objects.update(published_at=Edition.objects.first().published_at)  # all equal
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


def test_the_chart_of_readers_leaves_out_called_back_issues(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    first = publish_one("Herons")
    waits = publish_one("Swifts", at=tomorrow())
    assert scheduled_editions.cancel(waits.pk, called_back=True)
    # The chart also leaves out a correction to some readers.
    sent(first, "Ada")
    publish_one("Herons, corrected", issue=first.issue_id, version=2, goes_to="reached")
    SubscriberFactory()

    page = window.get(DESK)

    assert "4 confirmed" in section(page, "readers")
    assert re.search(r'aria-label="Confirmed readers: 3 on [^"]*, 4 now"', page.html)
    assert page.html.count('<path class="e"') == 2  # one for Herons, one for now
    figures = page.html.partition("Show the figures</summary><p>")[2].partition("</p>")[0]
    assert re.fullmatch(r"[^;]* 3; now 4\.", figures)


def figures_on(page: Page) -> str:
    figures = page.html.partition("Show the figures</summary><p>")[2].partition("</p>")[0]
    return re.sub(r"\d+ \w+ at \d\d:\d\d ", "", figures)


def test_the_chart_counts_confirmed_readers_whoever_got_the_issue(
    window: WindowOf,
    author: Any,
    publish_one: Callable[..., Edition],
    three_readers: list[Subscriber],
) -> None:
    founders = Tag.objects.create(name="Founders")
    Subscriber.objects.filter(name="Ada").update(tags=[founders.pk])
    first = publish_one("Herons")
    some = publish_one("Swifts", tags=TagChoice(((founders.pk, "Founders"),)))
    assert some.audience == 1
    sent(first, "Ada")
    called_back = publish_one("Terns", hold_s=60)
    control.call_back(called_back.pk)
    SubscriberFactory()
    # Neither a correction nor an issue without readers is another point.
    publish_one("Herons, corrected", issue=first.issue_id, version=2)
    publish_one("For the archive", goes_to="nobody")
    assert figures_on(window.get(DESK)) == "3; 3; now 4."
    waits = Draft.objects.create(title="Gulls", letter="Gulls.")
    sheet = f"/admin/newsletters/drafts/{waits.pk}/check/"
    last = r"1 more confirmed reader than at the last issue on \d+ \w+ \d{4}"
    assert re.search(last, window.get(sheet).words)

    # The audience of an issue to some readers says nothing about all.
    Edition.objects.update(confirmed_readers=None)
    assert "3; now 4." in figures_on(window.get(DESK))
    assert "than at the last" not in window.get(sheet).words


def test_a_scheduled_issue_counts_readers_when_it_starts(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    waits = publish_one("Herons", at=tomorrow())
    assert 'aria-label="Confirmed readers' not in window.get(DESK).html
    SubscriberFactory()
    make_edition_due(waits)
    assert start_due()
    SubscriberFactory()
    page = window.get(DESK)
    assert re.search(r'aria-label="Confirmed readers: 4 on [^"]*, 5 now"', page.html)


def strips_on(page: Page) -> str:
    return page.html.partition("Not sent, by issue")[2].partition("New readers by source")[0]


def test_unsent_copies_are_drawn_for_ended_issues(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    over, going = publish_one("Herons"), publish_one("Swifts")
    Batch.objects.filter(edition=over).update(
        state="done", waiting=0, sent=1, suppressed=1, withdrawn=1
    )
    strips = strips_on(window.get(DESK))
    assert "suppressed 1, withdrawn 1, failed 0" in strips
    assert strips.count('<svg class="bar"') == 1
    assert "2 of 3" in strips
    assert going.title not in strips


def test_copies_withdrawn_by_a_cancel_are_drawn(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    stopped, called_back = publish_one("Herons"), publish_one("Swifts", hold_s=60)
    sent(stopped, "Ada")
    control.cancel(stopped.pk)
    control.call_back(called_back.pk)
    strips = strips_on(window.get(DESK))
    assert re.findall(r'<span class="of">(\w+)', strips) == ["Herons"]
    assert "2 of 3" in strips
    assert "All other copies of these issues were sent once." in strips


def test_unconfirmed_copies_of_a_closed_issue_are_not_sent(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    closed = publish_one("Herons")
    in_doubt(closed, "Ada")
    sent(closed)
    Batch.objects.filter(edition=closed).update(state="parked")
    Edition.objects.filter(pk=closed.pk).update(control="closed")
    assert "1 copy of these issues is unconfirmed." in strips_on(window.get(DESK))


def test_issues_of_one_day_show_their_time(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    publish_one("Herons")
    SubscriberFactory()
    publish_one("Swifts")
    figures = window.get(DESK).html.partition("Show the figures</summary><p>")[2]
    assert re.match(r"\d+ \w+ at \d\d:\d\d 3; \d+ \w+ at \d\d:\d\d 4; now 4\.", figures)


def test_health_shows_what_is_unknown(window: WindowOf, settings: Any) -> None:
    health = section(window.get(DESK), "health")
    assert "POSTMARK_WEBHOOK_PASSWORD" in health
    assert "example.org" in health
    settings.FROM_EMAIL = "Edith Marlow <letter@almanack.org>"
    assert "Not checked yet almanack.org" in section(window.get(DESK), "health")


@pytest.mark.parametrize(
    ("otherwise", "result", "shown"),
    [
        ({}, "DKIM found DMARC is “reject”", "sent"),
        ({"dkim": records()}, "DKIM unknown", "calm"),
        ({"texts": Records(DnsStatus.NO_SUCH_NAME)}, "The domain does not exist", "fault"),
        ({"dmarc": Records(DnsStatus.NO_ANSWER)}, "DKIM found no name server answered", ""),
        ({"dmarc": records()}, "DKIM found no DMARC record", ""),
    ],
)
def test_the_sender_domain_shows_the_last_check(
    window: WindowOf, settings: Any, otherwise: dict[str, Any], result: str, shown: str
) -> None:
    settings.FROM_EMAIL = "Marlow, Edith <letter@almanack.org>"
    records = domain(**otherwise)
    save(DOMAIN, {records.domain: records})
    page = window.get(DESK)
    assert f"Sender domain {result}" in section(page, "health")
    line = page.html.partition("<dt>Sender domain</dt>")[2].partition("</dd>")[0]
    assert f'<span class="state {shown}' in line


def test_the_desk_shows_the_latest_activity(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    for number in range(8):
        publish_one(f"Letter {number}")
    log = section(window.get(DESK), "log")
    assert log.count("Edith Marlow published") == 6
    assert "Edith Marlow published Letter 7 to 3 readers." in log


PARTS = ("issues", "readers", "health", "log")


@pytest.mark.parametrize(
    ("permission", "parts"),
    [
        ("publish_edition", PARTS),
        ("operate_sending", PARTS),
        ("write_draft", ("issues", "readers")),
        ("view_issue", ("issues", "readers")),
        ("manage_readers", ("readers", "log")),
    ],
)
def test_each_permission_shows_its_own_part(
    new_author: Any, publish_one: Callable[..., Edition], permission: str, parts: tuple[str, ...]
) -> None:
    publish_one("Herons")
    page = WindowOf(new_author("ines", permission)).get(DESK)
    assert page.status == 200
    assert tuple(part for part in PARTS if section(page, part)) == parts
    assert ("Herons" in page.words) == (permission != "manage_readers")
    # Only managers of readers get links to readers.
    assert ("/admin/newsletters/readers/" in page.html) == (permission == "manage_readers")


def test_the_number_of_issues_does_not_change_the_queries(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    a_worker()

    def queries(**headers: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert window.client.get(DESK, secure=True, headers=headers).status_code == 200
        return len(captured)

    def polls() -> int:
        return queries(**{"HX-Request": "true"})

    def more(first: int, last: int) -> None:
        for number in range(first, last):
            edition = publish_one(f"Letter {number}")
            Draft.objects.create(title=f"Draft {number}", letter="Dear all", saved_by=window.author)
            Alarm.objects.create(
                edition=edition, kind="bounce_threshold", about="", reason=because("Too many.")
            )
            if number % 3:
                sent(edition)
            elif number % 2:
                stop(edition, "Postmark refuses the sender.")

    more(0, 3)
    queries()
    few, few_now = queries(), polls()
    more(3, 13)
    assert queries() == few <= 27
    assert polls() == few_now <= 8


DEFAULT_NAME = "“The Homing Letter”"


def test_the_desk_asks_for_a_newsletter_name(
    new_author: Any,
) -> None:
    operator = WindowOf(new_author("otto", "publish_edition", "change_newsletter"))

    page = operator.get(DESK)
    assert DEFAULT_NAME in page.words
    assert 'href="/admin/newsletters/settings/newsletter/"' in page.html

    Newsletter.objects.update(name="Tide Tables")
    assert DEFAULT_NAME not in operator.get(DESK).words


def test_the_desk_asks_only_those_who_may_change_the_name(window: WindowOf) -> None:
    assert DEFAULT_NAME not in window.get(DESK).words


def test_the_check_sheet_asks_for_a_newsletter_name(
    window: WindowOf,
) -> None:
    draft = Draft.objects.create(title="Swifts leave", letter="They have gone.")
    check = f"/admin/newsletters/drafts/{draft.pk}/check/"

    assert DEFAULT_NAME in window.get(check).words

    Newsletter.objects.update(name="Tide Tables")
    assert DEFAULT_NAME not in window.get(check).words


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
    fixed = publish_one("Herons, fixed", issue=first.issue_id, version=2, goes_to="nobody")
    page = window.get(DESK)
    row = row_of_issues(page)
    assert "3 of 3 sent" in row
    assert re.search(r"The page was corrected on \d+ \w+ \d{4}\.", row)
    assert "archive only" not in row
    assert titles(page) == ["Herons, fixed"]
    assert f"/admin/newsletters/{first.issue_id}/?version=1" in page.html
    head = window.get(f"/admin/newsletters/{first.issue_id}/")
    assert "Version 1: 3 of 3 sent. View its numbers" in head.words
    assert f"/admin/newsletters/{first.issue_id}/?version=1" in head.html
    program = Program(new_author("root", is_superuser=True))
    (listed,) = program.get("/issues/").json()["issues"]
    assert (listed["version"], listed["sent"], listed["title"]) == (1, 3, "Herons, fixed")
    assert listed["page_corrected_at"][:19] == f"{fixed.published_at:%Y-%m-%dT%H:%M:%S}"


def test_a_called_back_correction_does_not_hide_the_send(
    window: WindowOf, publish_one: Callable[..., Edition], three_readers: list[Subscriber]
) -> None:
    first = publish_one("Herons")
    sent(first)
    second = publish_one("Herons, fixed", issue=first.issue_id, version=2, hold_s=60)
    control.call_back(second.pk)
    row = row_of_issues(window.get(DESK))
    assert "3 of 3 sent" in row
    assert "Version 2 was called back." in row

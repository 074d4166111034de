"""The desk: things to do, sending, health, the log and its permissions."""

import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from delivery.models import Alarm, Batch, Edition, Newsletter
from delivery.monitoring import worker_heartbeat
from delivery.reconcile import database_identity
from publishing.approval.record_approval import approval_hash, approve
from publishing.external_checks.cached_results import DOMAIN, save
from publishing.external_checks.domain_records import DnsStatus, Records
from publishing.models import Draft
from publishing.publish.publish_edition import publish
from subscribers.models import ReaderFieldDefinition, Subscriber
from tests.delivery.because import because
from tests.publishing.author_browser import WindowOf
from tests.publishing.content_factory import letter
from tests.publishing.dashboard.desk_page import DESK, lede, section
from tests.publishing.edition_states import in_doubt, sent
from tests.publishing.preflight.context_factory import domain, records
from tests.publishing.schedule_issue import make_edition_due, tomorrow
from tests.subscribers.factories import SubscriberImportFactory

pytestmark = pytest.mark.django_db(transaction=True)


def a_worker() -> None:
    worker_heartbeat.beat(uuid.uuid4(), host="letterbox", pid=4711)


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
    # An older page polls. The answer makes this page offer a refresh.
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

    # An author without the permission sees the alarm but cannot acknowledge it.
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

    giver = new_author("basil", "publish_edition")
    Newsletter.objects.get_current()
    Newsletter.objects.update(second_person=True)
    need = section(window.get(DESK), "need")
    assert "A moth at the lamp" in need
    assert "Tomás Brandão" in need
    # The author who saved the draft cannot approve it, so nothing is listed for that author.
    assert section(WindowOf(writer).get(DESK), "need") == ""

    # The approval is valid only as long as the approver may publish.
    approve(draft.pk, giver.pk, approval_hash(draft))
    assert section(window.get(DESK), "need") == ""
    giver.user_permissions.clear()
    assert "A moth at the lamp" in section(window.get(DESK), "need")


def test_too_few_publishers_for_an_approval_are_reported(window: WindowOf, new_author: Any) -> None:
    change = 'href="/admin/newsletters/settings/newsletter/#second_person"'
    operator = WindowOf(new_author("otto", "operate_sending", "change_newsletter"))
    Newsletter.objects.get_current()
    Newsletter.objects.update(second_person=True)

    page = operator.get(DESK)
    assert "Fewer than two people may publish" in section(page, "need")
    assert change in page.html
    page = window.get(DESK)
    assert "Ask your administrator or an operator." in section(page, "need")
    assert change not in page.html
    assert section(WindowOf(new_author("olaf", "view_issue")).get(DESK), "need") == ""


@pytest.mark.parametrize("where", ["", "?show=ended", "?q=nothing+like+it"])
def test_the_headline_counts_all_things_to_do(
    window: WindowOf, new_author: Any, publish_one: Callable[..., Edition], where: str
) -> None:
    for number in range(7):
        Draft.objects.create(title=f"Moth {number}", letter="Dear all")
    Draft.objects.create(title="One of one's own", letter="Dear all", saved_by=window.author)
    checked = {"state": "checked", "confirmed": False, "finished_at": None}
    # The only row of the second import is rejected, so the desk does not list this import.
    SubscriberImportFactory(**checked, checked_at=timezone.now(), rows=1, added=1)
    SubscriberImportFactory(**checked, checked_at=timezone.now(), rows=1, rejected=1)
    for title in ("Herons", "Swifts"):
        edition = publish_one(title)
        for about in "12":
            Alarm.objects.create(
                edition=edition, kind="bounce_threshold", about=about, reason=because("Too many.")
            )

    manager = new_author("tom", "publish_edition", "manage_readers")
    Newsletter.objects.get_current()
    Newsletter.objects.update(second_person=True)
    assert "9 things" in lede(window.get(DESK + where))
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
    """Return the answer to a poll of an open desk."""
    answer = window.client.get(f"{DESK}{query}", secure=True, headers={"HX-Request": "true"})
    return answer.content.decode()


def contents(html: str) -> str:
    """Return the value that an open page sends with a poll to say what it shows."""
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
    # Only users who may manage readers get links to readers.
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


def test_the_desk_asks_who_may_change_it_for_a_name(window: WindowOf, new_author: Any) -> None:
    assert DEFAULT_NAME not in window.get(DESK).words
    operator = WindowOf(new_author("otto", "publish_edition", "change_newsletter"))

    page = operator.get(DESK)
    assert DEFAULT_NAME in page.words
    assert 'href="/admin/newsletters/settings/newsletter/"' in page.html

    Newsletter.objects.update(name="Tide Tables")
    assert DEFAULT_NAME not in operator.get(DESK).words


def test_the_check_sheet_finds_the_same_letter_under_another_title(
    window: WindowOf, author: Any
) -> None:
    ReaderFieldDefinition.objects.create(key="city", label="City", fallback="town", position=1)
    html, text = "<p>Swifts over {{ city }}.</p>", "Swifts over {{ city }}."
    publish(author.pk, "k", letter("Herons", html, text), hold_s=0)
    draft = Draft.objects.create(title="Swifts", format="html", letter=html, text=text)
    check = f"/admin/newsletters/drafts/{draft.pk}/check/"
    assert "Another issue with the same content was published" in window.get(check).words
    Draft.objects.update(letter=html.replace("Swifts", "Terns"))
    assert "No other issue had this content or title" in window.get(check).words

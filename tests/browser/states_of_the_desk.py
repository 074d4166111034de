"""The desk before anything happened, on a busy morning, and after a year of issues."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.utils import timezone

from delivery.models import Alarm, Batch, Delivery, Edition, Newsletter
from delivery.queue import presence
from publishing.audit_trail import record_action
from publishing.content import Content
from publishing.models import Draft
from publishing.publish import publish
from subscribers.importing.audit_trail import record_import
from subscribers.models import Subscriber
from tests.browser.for_everybody import Pages, Shown
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory

LONGEST = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


def first_issue(author: Any) -> None:
    """One issue has gone out, to three readers; one came since."""
    presence.arrive(uuid.uuid4(), host="letterbox", pid=4711)
    _readers(3)
    _over(_published(author, "Hello, and welcome", days_ago=2))
    _readers(1)


def busy(author: Any) -> None:
    """Something of everything: stops, alarms, decisions, two editions on their way, drafts."""
    Newsletter.objects.the_one()
    Newsletter.objects.update(time_zone="Europe/Lisbon")
    other = get_user_model().objects.create_user(
        "tomas", first_name="Tomás", last_name="Brandão", is_staff=True
    )
    presence.arrive(uuid.uuid4(), host="letterbox", pid=4711, warning="One stream is missing.")
    _readers(40)
    _over(_published(author, "On the patience of herons", days_ago=9), suppressed=2, withdrawn=1)
    missed = _published(author, "A storm, and what it took", days_ago=4)
    _over(missed, failed=3, missed=3, withdrawn=1)
    stopped = _published(author, LONGEST, days_ago=1)
    Batch.objects.filter(edition=stopped).update(state="paused")
    Edition.objects.filter(pk=stopped.pk).update(
        control="stopped",
        control_reason="Postmark refuses the sender letter@almanack.example. Confirm the address "
        "there, then resume.",
    )
    going = _published(author, "Swifts leave without saying goodbye")
    Batch.objects.filter(edition=going).update(
        waiting=10, sent=27, suppressed=1, withdrawn=1, failed=1
    )
    _published(author, "What the weir keeps", hold_s=3600)
    scheduled = _published(author, "Notes from a wet orchard")
    _take_back(scheduled)
    Edition.objects.filter(pk=scheduled.pk).update(
        control="scheduled", audience=0, scheduled_for=datetime(2036, 9, 24, 6, tzinfo=UTC),
        scheduled_local="2036-09-24T07:00", scheduled_zone="Europe/Lisbon",
    )  # fmt: skip
    Newsletter.objects.update(second_person=True)
    Draft.objects.create(title="A moth at the lamp", letter="Dear all, " * 300, saved_by=other)
    Draft.objects.create(title="", letter="", saved_by=author)
    Alarm.objects.create(
        edition=missed, kind="accepted_twice", about="1",
        sentence="Postmark accepted a second copy for one reader; the edition was stopped.",
    )  # fmt: skip
    record_action(other.pk, missed, "resumed")
    SubscriberImportFactory(
        state="checked", confirmed=False, finished_at=None, checked_at=timezone.now(),
        filename="village-fair.csv", rows=1204, added=1091, known=113, imported_by=other,
    )  # fmt: skip
    record_import(other.pk, SubscriberImportFactory(filename="guild.csv", confirmed=False))


def a_year(author: Any) -> None:
    """Twenty-six issues, each to some more readers than the one before."""
    presence.arrive(uuid.uuid4(), host="letterbox", pid=4711)
    for number in range(26):
        _readers(7 if number % 5 else 1)
        _over(
            _published(
                author, f"Salt, and where it goes, {number}", days_ago=2 + 14 * (26 - number)
            ),
            suppressed=number % 4,
            withdrawn=number % 3,
        )


def _readers(number: int) -> None:
    Subscriber.objects.bulk_create(SubscriberFactory.build_batch(number))


def _published(author: Any, title: str, *, days_ago: int = 0, hold_s: float = 0) -> Edition:
    content = Content(title, "<p>Dear reader.</p>", "Dear reader.")
    edition = publish(author.pk, uuid.uuid4().hex, content, hold_s=hold_s).edition
    if days_ago:
        at = edition.published_at - timedelta(days=days_ago)
        Edition.objects.filter(pk=edition.pk).update(published_at=at, held_until=at)
    return edition


def _over(edition: Edition, **counts: int) -> None:
    """It went out, but for these."""
    batch = Batch.objects.get(edition=edition)
    not_sent = sum(count for outcome, count in counts.items() if outcome != "missed")
    Batch.objects.filter(pk=batch.pk).update(
        state="done", waiting=0, sent=batch.size - not_sent, **counts
    )


def _take_back(edition: Edition) -> None:
    """As if it had not begun yet."""
    Delivery.objects.filter(issue=edition.issue_id, version=edition.version).delete()
    Batch.objects.filter(edition=edition).delete()


def overview(state: str) -> Callable[[Any], Pages]:
    """The desk's first pages in one of the states above."""

    def pages(author: Any) -> Pages:
        {"first issue": first_issue, "busy": busy, "a year": a_year}.get(state, str)(author)
        desk, log = "/admin/newsletters/issues/", "/admin/newsletters/log/"
        return {
            f"{state}: {address}": Shown(address)
            for address in (desk, log, f"{desk}?show=ended", f"{desk}?q=nothing+of+the+kind")
        }

    return pages

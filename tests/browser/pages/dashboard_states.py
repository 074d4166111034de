"""The desk before the first issue, after it, on a busy morning, after a year."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models.functions import Now
from django.utils import timezone

from delivery.models import Alarm, Batch, Edition, Newsletter, WorkerHeartbeat
from delivery.monitoring import worker_heartbeat
from delivery.rules.reason import Reason, ReasonCode
from publishing.activity.record_issue_activity import record_action
from publishing.models import Draft
from subscribers.models import Subscriber
from subscribers.record_activity import record_import_activity
from tests.browser.pages.accessibility import Pages, Shown
from tests.browser.pages.desk_pages import DESK, published, watching
from tests.delivery.because import because
from tests.subscribers.factories import SubscriberFactory, SubscriberImportFactory


def _readers(number: int) -> None:
    Subscriber.objects.bulk_create(SubscriberFactory.build_batch(number))


def _went_out(author: Any, days_ago: int, **counts: int) -> None:
    """Settle an edition: the given copies get other outcomes, and the rest are sent."""
    edition = published(author)
    at = edition.published_at - timedelta(days=days_ago)
    Edition.objects.filter(pk=edition.pk).update(published_at=at, held_until=at)
    sent = Batch.objects.get(edition=edition).size - sum(counts.values())
    Batch.objects.filter(edition=edition).update(state="done", waiting=0, sent=sent, **counts)


def _a_worker_is_there(warning: str = "") -> None:
    """Add a worker whose heartbeat stays recent until the end of a long test."""
    problems = [Reason.of(ReasonCode.OTHER, text=warning)] if warning else []
    worker_heartbeat.beat(uuid.uuid4(), host="letterbox", pid=4711, problems=problems)
    WorkerHeartbeat.objects.update(heard_at=Now() + timedelta(hours=1))


def first_issue(author: Any) -> None:
    """Send one issue to three readers, and then let one more reader confirm."""
    _a_worker_is_there()
    _readers(3)
    _went_out(author, days_ago=2)
    _readers(1)


def busy(author: Any) -> None:
    """Create issues in all states, an alarm, decisions, drafts and an import."""
    _readers(40)
    watching(author)
    tomas = get_user_model().objects.create_user(
        "tomas", first_name="Tomás", last_name="Brandão", is_staff=True
    )
    _a_worker_is_there("One stream is missing.")
    Newsletter.objects.get_current()
    Newsletter.objects.update(second_person=True)
    Draft.objects.create(title="A moth at the lamp", letter="Dear all, " * 300, saved_by=tomas)
    Draft.objects.create(title="", letter="", saved_by=author)
    ended = Edition.objects.filter(kind="newsletter").latest("pk")
    Alarm.objects.create(
        edition=ended, kind="accepted_twice", about="1",
        reason=because("Postmark accepted a second copy for one reader; the edition was stopped."),
    )  # fmt: skip
    record_action(tomas.pk, ended, "resume")
    SubscriberImportFactory(
        state="checked", confirmed=False, finished_at=None, checked_at=timezone.now(),
        filename="village-fair.csv", rows=1204, added=1091, known=113, imported_by=tomas,
    )  # fmt: skip
    record_import_activity(
        "import", tomas.pk, SubscriberImportFactory(filename="guild.csv", confirmed=False)
    )


def a_year(author: Any) -> None:
    """Create 26 issues, each with more readers than the previous one."""
    _a_worker_is_there()
    for number in range(26):
        _readers(7 if number % 5 else 1)
        _went_out(author, 2 + 14 * (26 - number), suppressed=number % 4, withdrawn=number % 3)


def overview(state: Callable[[Any], object]) -> Callable[[Any], Pages]:
    """Return the desk's first pages in one of these states."""

    def pages(author: Any) -> Pages:
        state(author)
        issues, log = f"{DESK}issues/", f"{DESK}log/"
        addresses = (issues, log, f"{issues}?show=ended", f"{issues}?q=nothing+of+the+kind")
        return {address: Shown(address) for address in addresses}

    return pages

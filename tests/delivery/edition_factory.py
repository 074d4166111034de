"""Actions for delivery tests: publish to readers, take steps, read the results."""

import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import override_settings

from delivery.models import Attempt, Batch, Delivery, Edition
from delivery.models.attempt import NO_BATCH
from delivery.provider.from_settings import policy_from_settings, provider_from_settings
from delivery.queue.lease_reaper import recover_expired_leases
from delivery.reports.audit import find_violations
from delivery.reports.load_edition_counts import load_counts
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.edition_state import EditionState, state_of
from delivery.worker.step import Dispatcher
from postmark_sandbox.sandbox_state import Sandbox
from publishing.content.edition_content import Content
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber


def steady_dice() -> float:
    """Return jitter that is always the middle of its range."""
    return 0.5


def copies_of(edition: Edition) -> list[Delivery]:
    rows = Delivery.objects.filter(issue=edition.issue_id, version=edition.version)
    return list(rows.order_by("recipient"))


def never() -> bool:
    """Never ask the worker to stop."""
    return False


# A part of the statement that checks the readers just before a call.
THE_LAST_LOOK = "FROM start_batch_1("


STORED_TIMES = {
    "batch": ("due_at", "lease_until", "unknown_since"),
    "attempt": ("started_at", "deadline_at", "finished_at"),
    "edition": ("published_at", "held_until"),
    "send_rate": ("next_claim_at", "slowed_at"),
}


class Newsroom:
    """An author, a list of confirmed readers, and one worker."""

    sandbox: Sandbox  # the state of the Postmark sandbox, if the test uses one

    def __init__(self) -> None:
        self.author = get_user_model().objects.create_user(username=f"author-{uuid.uuid4().hex}")

    def confirm(
        self, count: int, *, start: int = 0, addresses: Mapping[int, str] = MappingProxyType({})
    ) -> list[Subscriber]:
        """Add confirmed readers: a number (`reader0@example.net`, …) or `addresses`."""
        return Subscriber.objects.bulk_create(
            Subscriber(
                email=addresses.get(number, f"reader{number}@example.net"),
                name=f"Reader {number}",
                state=Subscriber.State.CONFIRMED,
                confirmed_at=Now(),
            )
            for number in range(start, start + count)
        )

    def publish(
        self,
        readers: int = 0,
        *,
        title: str = "Swifts",
        html: str = "<p>Dear {{ name|reader }}</p>",
        hold_s: float = 0.0,
        key: str | None = None,
        batch_size: int | None = None,
    ) -> Edition:
        """Publish an edition to the existing readers and to `readers` new ones."""
        if readers:
            self.confirm(readers, start=Subscriber.objects.count())
        content = Content.from_input(title=title, html=html)
        size = batch_size or settings.DELIVERY_BATCH_SIZE
        with override_settings(DELIVERY_BATCH_SIZE=size):
            return publish(self.author.pk, key or uuid.uuid4().hex, content, hold_s=hold_s).edition

    def dispatcher(self) -> Dispatcher:
        """Make a worker's dispatcher with the current settings."""
        return Dispatcher(
            uuid.uuid4(),
            provider_from_settings(),
            policy=policy_from_settings(),
            jitter=steady_dice,
        )

    def step(self) -> bool:
        """Do one piece of work that is due."""
        return self.dispatcher().step()

    def deliver_all(self) -> None:
        """Do everything that is due now."""
        while self.step():
            pass

    def deliver_after(self, seconds: float) -> None:
        """Let `seconds` pass, then do everything that is due."""
        self.let_time_pass(seconds)
        self.deliver_all()

    def recover_expired_leases(self) -> int:
        """Recover expired leases, as every worker does regularly."""
        return recover_expired_leases()

    def let_time_pass(self, seconds: float) -> None:
        """Move every stored time into the past, as if `seconds` had passed.

        No clock needs to change, because all stored times are compared with the database's clock.
        """
        with connection.cursor() as cursor:
            for table, columns in STORED_TIMES.items():
                moved = ", ".join(f"{column} = {column} - %(span)s" for column in columns)
                cursor.execute(f"UPDATE {table} SET {moved}", {"span": timedelta(seconds=seconds)})

    def wait_for_a_backend_that_waits_for_a_lock(self, sessions: int = 1, doing: str = "") -> None:
        """Wait until this number of other sessions of the database wait for a lock.

        `doing` is a part of the statement that the sessions run. The query uses a second
        connection, because Django's connection is in a transaction.
        """
        onlooker = connection.copy()
        try:
            deadline = time.monotonic() + 60
            with onlooker.cursor() as cursor:
                while time.monotonic() < deadline:
                    cursor.execute(
                        "SELECT count(*) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND wait_event_type = 'Lock' "
                        "AND strpos(query, %s) > 0 AND pid <> pg_backend_pid()",
                        [doing],
                    )
                    if cursor.fetchone()[0] >= sessions:
                        return
        finally:
            onlooker.close()
        raise AssertionError("no session waited for the lock")

    def counts(self, edition: Edition) -> EditionCounts:
        """Load the counts of an edition; fail the test if they break any rule."""
        assert find_violations([edition.pk]) == []
        counts = load_counts(edition.pk)
        assert counts.balanced
        return counts

    def state(self, edition: Edition) -> EditionState:
        """Return the state of the edition."""
        return state_of(self.counts(edition))

    def batches(self, edition: Edition) -> Sequence[Batch]:
        """List the edition's batches in queue order."""
        return list(Batch.objects.filter(edition=edition).order_by("position", "pk"))

    def batch(self, edition: Edition) -> Batch:
        """Return the edition's only batch."""
        return Batch.objects.get(edition=edition)

    def attempts(self, edition: Edition) -> Sequence[Attempt]:
        """List the edition's recorded calls, oldest first."""
        calls = Attempt.objects.exclude(batch_id=NO_BATCH)
        return list(calls.filter(edition=edition).order_by("started_at"))

    def copies(self, edition: Edition) -> Sequence[Delivery]:
        """List the edition's deliveries, in the order of their recipients."""
        copies = Delivery.objects.filter(issue=edition.issue_id, version=edition.version)
        return list(copies.order_by("recipient"))

    def recipients(self, edition: Edition) -> Sequence[int]:
        """List the recipients of an edition's deliveries, in the order of `copies`."""
        return [copy.recipient_id for copy in self.copies(edition)]

    def outcomes(self, edition: Edition) -> list[str]:
        """List the outcome of each delivery, in the order of the recipients."""
        return [copy.outcome for copy in self.copies(edition)]

"""Rehearse an issue: render and check every message, and send nothing.

A worker rehearses under a lease. If the worker is killed, the rehearsal starts again.
"""

import hashlib
import json
import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from statistics import median_low
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.urls import reverse

from delivery.interface import (
    Judged,
    batch_size,
    batch_size_for,
    provider_class,
    renderer_of,
    short_transaction,
)
from delivery.models import Batch, Edition
from delivery.plan_methods import NESTED_LOOPS, plan_without
from delivery.rules.reason import dumps as dump_reason
from delivery.tasks.leased_task_columns import TaskState
from delivery.tasks.run_leased_task import ClaimedTask, cancel, run_next
from publishing.content.compose_content import edition_columns
from publishing.content.draft_content import build_content
from publishing.content.edition_content import find_problems
from publishing.content.gmail_limit import GMAIL_CLIPS_AT
from publishing.editions.archive_visibility import content_of
from publishing.editions.audience import choice_of, select_audience
from publishing.editions.versions import versions_of
from publishing.models import Draft, Rehearsal
from subscribers.fields.own_fields import load_own_fields

logger = logging.getLogger(__name__)

KEPT = timedelta(days=30)
SAVE_EVERY_S = 0.5
# While an issue is being sent, a rehearsal pauses after each batch, for this many times the
# duration of the batch.
RESTS_WHILE_SENDING = 4
LONGEST_REST_S = 0.2
# A report names at most this many refused readers. Further refused readers are not named.
MOST_NAMED = 1_000


class RehearsalReport:
    """Totals of the messages of a rehearsal.

    The size of a message is the number of bytes of its two parts.
    """

    def __init__(self) -> None:
        self.checked = self.calls = self.bytes = 0
        self.refused: Counter[str] = Counter()  # the number of refused messages, by reason
        self.named: list[dict[str, Any]] = []
        self._clipped = 0
        self._sizes: Counter[int] = Counter()

    def add_call(self, call: bytes) -> None:
        """Count a call to the provider."""
        self.calls += 1
        self.bytes += len(call)

    def add_message(self, recipient: int, judged: Judged) -> None:
        """Count a message that the provider's rules judged."""
        self.checked += 1
        self._sizes[judged.html_bytes + judged.text_bytes] += 1
        self._clipped += judged.html_bytes > GMAIL_CLIPS_AT
        if judged.refusal is not None:
            reason = dump_reason(judged.refusal)
            self.refused[reason] += 1
            if len(self.named) < MOST_NAMED:
                self.named.append({"reader": recipient, "reason": reason})

    def as_json(self) -> dict[str, Any]:
        """Return the report as the database stores it, with readers' ids, not addresses."""
        sizes = self._sizes
        return {
            "calls": self.calls,
            "bytes": self.bytes,
            "smallest": min(sizes, default=0),
            "median": median_low(sizes.elements()) if sizes else 0,
            "largest": max(sizes, default=0),
            "clipped": self._clipped,
            "refused": [[reason, number] for reason, number in self.refused.most_common(20)],
            "named": self.named,
        }


class CannotRehearseError(Exception):
    """The draft was published, or its letter has an error that prevents publishing."""


def fingerprint(draft: Draft) -> bytes:
    """Hash the content and the audience of a draft, because a rehearsal checks both."""
    fields = draft.fields
    audience = (str(draft.issue_id), fields.goes_to, fields.with_tags, fields.without_tags)
    content = build_content(fields).sha256
    return hashlib.sha256(content + json.dumps(audience).encode()).digest()


def request_rehearsal(draft: Draft) -> bool:
    """Request a rehearsal. Return False if another rehearsal is open.

    Raises `CannotRehearseError`.
    """
    if draft.edition_id or find_problems(content_of(draft), load_own_fields()):
        raise CannotRehearseError
    try:
        with transaction.atomic():
            Rehearsal.objects.create(draft=draft, fingerprint=fingerprint(draft))
    except IntegrityError:
        return False
    return True


def cancel_rehearsal(draft: uuid.UUID) -> bool:
    """Cancel the open rehearsal of a draft; its worker notices within a second."""
    newest = newest_rehearsal(draft)
    return newest is not None and cancel(newest)


def newest_rehearsal(draft: uuid.UUID) -> Rehearsal | None:
    """Load the newest rehearsal of a draft."""
    return Rehearsal.objects.filter(draft=draft).order_by("-pk").first()


def current_rehearsal(draft: Draft) -> Rehearsal | None:
    """Load a draft's newest rehearsal; None if the draft has changed since."""
    newest = newest_rehearsal(draft.pk)
    return newest if newest and bytes(newest.fingerprint) == fingerprint(draft) else None


def expire_rehearsals() -> None:
    """Delete rehearsals that ended more than `KEPT` ago."""
    with short_transaction():
        Rehearsal.objects.filter(finished_at__lt=Now() - KEPT).delete()


def run_next_rehearsal(is_stopping: Callable[[], bool]) -> bool:
    """Claim and run the next due rehearsal; False if nothing is due."""
    return run_next(Rehearsal, _rehearse, is_stopping)


def _rehearse(running: ClaimedTask[Rehearsal]) -> None:
    rehearsal, draft = running.task, running.task.draft
    if draft.edition_id or bytes(rehearsal.fingerprint) != fingerprint(draft):
        # The text or the audience was changed after the request, so nobody needs this report.
        running.end(TaskState.CANCELLED)
        return
    edition = _edition_of(draft)
    tags = choice_of(draft.with_tags, draft.without_tags)
    audience = select_audience(
        edition.issue_id, edition.version, draft.goes_to, fields=edition.merge_fields, tags=tags
    )
    running.heartbeat(done=0, total=audience.count(), started_at=Now())
    report, attempt = RehearsalReport(), uuid.uuid4()
    renderer = renderer_of(edition)
    size = batch_size_for(edition, batch_size())
    saved_s, rests = 0.0, 0
    with _frozen(audience, size) as batches:
        for batch in batches:
            began_s = time.monotonic()
            rows = [(*row[:-1], *row[-1]) for row in batch] if edition.merge_fields else batch
            call = renderer.body(rows, attempt)
            report.add_call(call)
            for row, judged in zip(rows, provider_class().judge(call), strict=True):
                report.add_message(row[0], judged)
            now_s = time.monotonic()
            if now_s - saved_s >= SAVE_EVERY_S:
                running.heartbeat(done=report.checked)
                saved_s, rests = now_s, RESTS_WHILE_SENDING * _is_sending()
            if rests:
                time.sleep(min((now_s - began_s) * rests, LONGEST_REST_S))
    running.end(TaskState.FINISHED, done=report.checked, report=report.as_json())
    logger.info("rehearsal %d checked %d messages", rehearsal.pk, report.checked)


def _edition_of(draft: Draft) -> Edition:
    """Return, unsaved, the edition that publishing the draft would store."""
    newest = versions_of(draft.issue_id).first() if draft.issue_id else None
    return Edition(
        issue_id=draft.issue_id or uuid.UUID(int=0),
        version=newest.version + 1 if newest else 1,
        archive_url=settings.SITE_URL + reverse("archive:index"),
        **edition_columns(content_of(draft)),
    )


@contextmanager
def _frozen(audience: QuerySet[Any, Any], size: int) -> Iterator[Iterator[list[Any]]]:
    """Read an audience as it is now, `size` recipients at a time.

    A cursor of the database reads all readers as they are at one moment. The cursor has a
    connection of its own, so progress can be saved while the cursor is open. The cursor also works
    behind a connection pooler.
    """
    rows, parameters = audience.order_by("id").query.sql_with_params()
    source = connection.copy()
    try:
        source.set_autocommit(False)
        with source.cursor() as cursor:
            with plan_without(cursor, NESTED_LOOPS):
                cursor.execute(f"DECLARE audience NO SCROLL CURSOR FOR {rows}", parameters)

            def fetch() -> list[Any]:
                cursor.execute(f"FETCH {int(size)} FROM audience")
                return list(cursor.fetchall())

            yield iter(fetch, [])
    finally:
        source.close()


def _is_sending() -> bool:
    """Whether copies of a newsletter are due now."""
    states = (Batch.State.READY, Batch.State.CLAIMED)
    due = Batch.objects.filter(state__in=states, due_at__lte=Now(), position__gt=0)
    return due.exists()

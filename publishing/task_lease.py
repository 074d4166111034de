"""Leases of background tasks: one worker has a task until its lease ends.

After a worker was killed, the next claim of its task has another epoch."""

import uuid
from datetime import timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from publishing.models import Export, IssueMove, Rehearsal

Task = TypeVar("Task", Export, IssueMove, Rehearsal)
# A move renews its lease after each image, so the lease is longer than fetching and resizing one.
SHORTEST_LEASE_S = {Export: 10.0, IssueMove: 120.0, Rehearsal: 10.0}
_OPEN = Q(state__in=("waiting", "running"))
_FREE = Q(lease_until=None) | Q(lease_until__lt=Now())


class LeaseLostError(Exception):
    """The task was cancelled, another worker has it, or this worker is stopping."""


def waiting() -> list[QuerySet[Any]]:
    """Select the tasks of each kind that wait for a worker."""
    return [kind._default_manager.filter(_OPEN) for kind in SHORTEST_LEASE_S]


def is_claimable(kind: type[Task]) -> bool:
    """Whether an unclaimed task of this kind is open."""
    return kind._default_manager.filter(_OPEN, _FREE).exists()


def claim(kind: type[Task], owner: uuid.UUID | None = None, **columns: Any) -> Task | None:
    """Claim the oldest task that nobody has, and set these columns; None if none is."""
    tasks = kind._default_manager
    with transaction.atomic():
        found = (
            tasks.filter(_OPEN, _FREE).select_for_update(skip_locked=True).order_by("pk").first()
        )
        if found is None:
            return None
        tasks.filter(pk=found.pk).update(
            state="running",
            owner=owner or uuid.uuid4(),
            epoch=F("epoch") + 1,
            lease_until=Now() + _lease(kind),
            **columns,
        )
        # Read while the row is locked, or a worker that paused could read its successor's lease.
        return tasks.get(pk=found.pk)


def leased(task: Task) -> QuerySet[Task]:
    """Return the row of the task while this worker has it, otherwise nothing."""
    tasks = type(task)._default_manager
    return tasks.filter(pk=task.pk, owner=task.owner, epoch=task.epoch, state="running")


def renew(task: Task, **columns: Any) -> None:
    """Renew the lease and set these columns. Raises `LeaseLostError`."""
    if not leased(task).update(lease_until=Now() + _lease(type(task)), **columns):
        raise LeaseLostError


def release(task: Task) -> None:
    """Let another worker claim the task, unless one has done so."""
    leased(task).update(state="waiting", owner=None, lease_until=None)


def end(task: Task, state: str, **columns: Any) -> None:
    """End the task in this state and set these columns. Raises `LeaseLostError`."""
    ended = {"state": state, "finished_at": Now(), "owner": None, "lease_until": None}
    if not leased(task).update(**ended, **columns):
        raise LeaseLostError


def _lease(kind: type[Task]) -> timedelta:
    return timedelta(seconds=max(settings.DELIVERY_LEASE_S, SHORTEST_LEASE_S[kind]))

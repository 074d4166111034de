"""Columns of tasks that only one worker at a time runs, under a lease."""

from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class TaskState(models.TextChoices):
    """States that several kinds of task have; docs/states.md has all of them."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    FAILED = "failed"
    EXPIRED = "expired"


class LeasedTask(models.Model):
    """A task in the background, its progress and the lease of its worker.

    Each kind of task is a subclass. `run_leased_task.py` writes the columns of the lease.
    """

    # The states in which a worker has the task or will claim it. A claim changes `waiting` to
    # `running` and keeps any other state.
    OPEN: ClassVar[tuple[str, ...]] = (TaskState.WAITING, TaskState.RUNNING)
    # A lease must be longer than a step takes. `DELIVERY_LEASE_S` may be shorter in tests.
    SHORTEST_LEASE_S: ClassVar[float] = 10.0
    MOST_CLAIMS: ClassVar[int] = 20  # claims without progress; a stop of a worker counts too
    LARGE: ClassVar[tuple[str, ...]] = ()  # columns that a claim does not load

    id = models.BigAutoField(primary_key=True)
    state = models.CharField(max_length=9, default=TaskState.WAITING, db_default=TaskState.WAITING)
    requested_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    # Progress, in the unit of this kind of task. `total` is 0 while it is unknown.
    done = models.PositiveBigIntegerField(default=0, db_default=0)
    total = models.PositiveBigIntegerField(default=0, db_default=0)
    error = models.JSONField(null=True)  # code and parameters of the reason for a refusal
    # The lease. An owner is one process; each claim raises the epoch.
    owner = models.UUIDField(null=True)
    epoch = models.BigIntegerField(default=0, db_default=0)
    lease_until = models.DateTimeField(null=True)
    claims = models.PositiveIntegerField(default=0, db_default=0)  # claims since the last progress

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(
                name="%(class)s_state_is_known", condition=Q(state__in=TaskState.values)
            ),
            models.CheckConstraint(
                name="%(class)s_that_ended_says_when",
                condition=Q(state__in=["waiting", "running"], finished_at=None)
                | (~Q(state__in=["waiting", "running"]) & Q(finished_at__isnull=False)),
            ),
        ]

    @property
    def is_open(self) -> bool:
        """Whether a worker has claimed the task or will claim it."""
        return self.state in self.OPEN

    @property
    def percent(self) -> int:
        """The part of the task that is done, in per cent."""
        return 100 * self.done // max(self.total, 1)

    @property
    def most_claims(self) -> int:
        """The number of claims without progress after which a worker gives up."""
        return self.MOST_CLAIMS

    def give_up(self) -> dict[str, Any]:
        """Return new values for a task that was claimed too often without progress."""
        return {"state": TaskState.FAILED}

    def clear(self, end: str) -> None:
        """Delete what was needed for the work, in the transaction that ends the task.

        `end` is the new state; `state` is still the previous state.
        """

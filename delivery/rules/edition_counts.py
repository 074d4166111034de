"""The counts of an edition, which always add up to its audience."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from delivery.rules.reason import Reason, ReasonCode
from delivery.rules.scheduled_time import ScheduledTime

# Normally, the call for a due copy starts within this time, because a worker looks for due copies
# every second.
MOVES_WITHIN = timedelta(seconds=60)
_CALLED_BACK = frozenset({ReasonCode.CALLED_BACK, ReasonCode.CALLED_BACK_BEFORE_ITS_TIME})


@dataclass(frozen=True, slots=True)
class EditionCounts:
    """The counts of one edition, all from one reading at `now`, the database's time.

    `crashing` counts the batches that crashed a worker since their last call, and the parts of such
    batches. `last_call_at` is when the last call started or ended. `write_fault` is a fault of the
    database that stops all workers. `missed` counts failed copies that need a decision. `bounced`
    and `complained` do not count outcomes: most of these copies are also counted in `sent`.
    `being_sent` counts the waiting copies that a worker holds. `awaiting_decision` counts the
    unknown copies that need a decision. `unreconciled` is true while a restored database is not yet
    compared with the provider. `slowed_to_per_s` is the rate of all workers after a 429. The
    `audience` of transactional mail is everyone who has requested it so far. `scheduled` stays set
    after publication. `goes_to` is a value of `Edition.GoesTo`. `with_tags` and `without_tags` are
    the names of the tags that limit the audience. From `deliveries_dropped_at` on, the edition has
    only these counts and no deliveries.
    """

    edition: int
    issue: UUID
    version: int
    title: str
    control: str
    control_reason: Reason | None
    control_at: datetime | None
    unreconciled: bool
    published_at: datetime
    held_until: datetime
    audience: int
    sent: int
    suppressed: int
    withdrawn: int
    failed: int
    unknown: int
    waiting: int
    missed: int
    leased_batches: int
    queued_batches: int
    parked_batches: int
    paused_batches: int
    reason: Reason | None
    next_try_at: datetime | None
    next_lookup_at: datetime | None
    unknown_since: datetime | None
    worker_heard_at: datetime | None
    worker_is_there: bool
    rate_per_s: float
    now: datetime
    slowed_to_per_s: float | None
    kind: str = "newsletter"
    bounced: int = 0
    complained: int = 0
    scheduled: ScheduledTime | None = None
    goes_to: str = "everyone"
    with_tags: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()
    deliveries_dropped_at: datetime | None = None
    being_sent: int = 0
    awaiting_decision: int = 0
    crashing: int = 0
    last_call_at: datetime | None = None
    write_fault: Reason | None = None

    @property
    def still_since(self) -> datetime | None:
        """Since when no call for a due copy has started or ended; None if one did lately.

        The time is no earlier than the time at which a copy was due.
        """
        began = [self.published_at, self.held_until, self.control_at, self.last_call_at]
        if self.queued_batches and not self.leased_batches:
            began.append(min(filter(None, (self.next_try_at, self.next_lookup_at)), default=None))
        since = max(time for time in began if time is not None)
        return since if self.now - since > MOVES_WITHIN else None

    @property
    def queued(self) -> int:
        """The copies that certainly wait, because no worker has them."""
        return self.waiting - self.being_sent

    @property
    def is_transactional(self) -> bool:
        """Whether each reader requested this mail individually."""
        return self.kind != "newsletter"

    @property
    def has_started(self) -> bool:
        """Whether the edition was ever published."""
        never_began = self.control == "cancelled" and self.scheduled is not None
        return self.control != "scheduled" and not (never_began and not self.audience)

    @property
    def is_called_back(self) -> bool:
        """Whether the edition was cancelled before any copy was sent.

        If a copy proves to have been sent, the edition counts as cancelled, not as called back.
        """
        nobody_reached = not (self.sent or self.unknown or self.waiting)
        return (
            self.control == "cancelled"
            and nobody_reached
            and self.control_reason is not None
            and self.control_reason.code in _CALLED_BACK
        )

    @property
    def is_due(self) -> bool:
        """Whether the edition's scheduled time has come."""
        waits = self.control == "scheduled" and not self.unreconciled
        return waits and self.scheduled is not None and self.scheduled.utc <= self.now

    @property
    def has_tags(self) -> bool:
        """Whether tags limit the edition's readers."""
        return bool(self.with_tags or self.without_tags)

    @property
    def is_limited(self) -> bool:
        """Whether the edition goes to only some of the confirmed readers."""
        return self.has_tags or self.goes_to in ("reached", "unreached")

    @property
    def balanced(self) -> bool:
        """Whether the counts add up to the audience."""
        counts = (self.sent, self.suppressed, self.withdrawn, self.failed, self.unknown)
        return self.audience == sum(counts) + self.waiting

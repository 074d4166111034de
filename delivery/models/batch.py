"""A batch: up to 500 deliveries of one edition, sent in one call under one lease."""

from functools import reduce
from operator import add

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now
from django.db.models.lookups import Exact

from delivery.models.shared_columns import ChoiceField, ReasonField

# Each edition has its own range of this many batch ids. So INSERT … SELECT can compute the batch of
# a row, and editions never wait for a shared sequence.
BATCHES_PER_EDITION = 1 << 20

COUNTS = ("waiting", "sent", "unknown", "suppressed", "withdrawn", "failed")


# Batches that are not done, and batches whose missed deliveries wait for a decision. A query uses
# the index `batch_open` only if the query repeats this condition; in SQL, `batch_is_open_1` repeats
# it. PostgreSQL must not see that `state = 'ready'` implies this condition. Otherwise a claim would
# read the whole index.
OPEN = Q(
    Exact(
        Case(
            When(Q(state="done") & Q(missed=0), then=Value("over")),
            default=Value("not over"),
            output_field=models.TextField(),
        ),
        "not over",
    )
)


class Batch(models.Model):
    """The unit that a worker claims.

    Every write to a batch repeats its state and its epoch (docs/states.md). The counts change in
    the transaction that changes the deliveries. An edition's counts are the sums over its batches.
    """

    class State(models.TextChoices):
        READY = "ready", "may be claimed once it is due"
        CLAIMED = "claimed", "a worker prepares its call"
        SENDING = "sending", "a call is on record and may have left"
        UNKNOWN = "unknown", "the call's end is unknown; the provider will be asked"
        LOOKING_UP = "looking_up", "a worker asks the provider"
        PAUSED = "paused", "waits until its edition is resumed"
        PARKED = "parked", "the rest of it waits for a decision"
        DONE = "done", "nothing is left to do"

    # edition × 2^20 + number (delivery/queue/enqueue_edition.py).
    id = models.BigIntegerField(primary_key=True)
    edition = models.ForeignKey("delivery.Edition", on_delete=models.CASCADE)
    position = models.BigIntegerField()  # The lowest goes first.
    state = ChoiceField(max_length=20, choices=State, default=State.READY)
    epoch = models.PositiveIntegerField(default=0, db_default=0)  # Grows with every claim.
    owner = models.UUIDField(null=True)  # The worker that holds the lease.
    lease_until = models.DateTimeField(null=True)
    # The time at which the hold ends, or the next try or look-up is due.
    due_at = models.DateTimeField(db_default=Now())
    attempt = models.UUIDField(null=True)  # The attempt that is in flight or unknown.
    # The number of tries that count, the same for every waiting delivery of the batch.
    tries = models.PositiveSmallIntegerField(default=0, db_default=0)
    # Deferrals in a row that used up no try. The number of deferrals sets the backoff.
    deferrals = models.PositiveIntegerField(default=0, db_default=0)
    # Calls in a row that a proxy refused.
    blocked = models.PositiveSmallIntegerField(default=0, db_default=0)
    # How many workers crashed while they held the batch.
    crashes = models.PositiveSmallIntegerField(default=0, db_default=0)
    # The attempt's end or deadline, from which look-ups are timed.
    unknown_since = models.DateTimeField(null=True)
    # How many look-ups of the unknown attempt did not find it.
    lookups = models.PositiveSmallIntegerField(default=0, db_default=0)
    reason = ReasonField(blank=True, db_default="")  # Why the batch waits.

    size = models.PositiveIntegerField()
    waiting = models.PositiveIntegerField()
    sent = models.PositiveIntegerField(default=0, db_default=0)
    unknown = models.PositiveIntegerField(default=0, db_default=0)
    suppressed = models.PositiveIntegerField(default=0, db_default=0)
    withdrawn = models.PositiveIntegerField(default=0, db_default=0)
    failed = models.PositiveIntegerField(default=0, db_default=0)
    # Failed deliveries that wait for a decision.
    missed = models.PositiveIntegerField(default=0, db_default=0)
    bounced = models.PositiveIntegerField(default=0, db_default=0)
    complained = models.PositiveIntegerField(default=0, db_default=0)

    # Whether the batch's counts are in a `BatchTotal`. A trigger clears this mark at the next
    # change of the row.
    rolled_up = models.BooleanField(default=False, db_default=False)

    class Meta:
        db_table = "batch"
        constraints = [
            models.CheckConstraint(
                name="the_counts_of_a_batch_add_up", condition=Q(size=reduce(add, map(F, COUNTS)))
            ),
            models.CheckConstraint(
                name="a_batch_is_numbered_within_its_edition",
                condition=Q(edition=F("id") / BATCHES_PER_EDITION),
            ),
            models.CheckConstraint(
                name="the_missed_are_among_the_failed", condition=Q(missed__lte=F("failed"))
            ),
            models.CheckConstraint(name="a_batch_holds_at_most_500", condition=Q(size__lte=500)),
            models.CheckConstraint(
                name="a_lease_is_held_exactly_while_a_worker_works",
                condition=(
                    Q(state__in=["claimed", "sending", "looking_up"])
                    & Q(lease_until__isnull=False, owner__isnull=False)
                )
                | (
                    Q(state__in=["ready", "unknown", "paused", "parked", "done"])
                    & Q(lease_until__isnull=True, owner__isnull=True)
                ),
            ),
            models.CheckConstraint(
                name="a_done_batch_has_nothing_open",
                condition=~Q(state="done") | Q(waiting=0, unknown=0),
            ),
            models.CheckConstraint(
                name="unknown_has_a_beginning",
                condition=~Q(state__in=["unknown", "looking_up"]) | Q(unknown_since__isnull=False),
            ),
            models.CheckConstraint(
                name="a_call_is_made_under_an_attempt",
                condition=~Q(state="sending") | Q(attempt__isnull=False),
            ),
        ]
        indexes = [
            models.Index(name="batch_ready", fields=["position", "id"], condition=Q(state="ready")),
            models.Index(name="batch_unknown", fields=["due_at"], condition=Q(state="unknown")),
            # A worker finds its batch in this index, to start or settle a call. The lease reaper
            # reads the whole index.
            models.Index(
                name="batch_leased",
                fields=["id"],
                condition=Q(state__in=["claimed", "sending", "looking_up"]),
            ),
            models.Index(name="batch_open", fields=["edition"], condition=OPEN),
            models.Index(
                name="batch_not_rolled_up",
                fields=["edition", "state"],
                condition=Q(rolled_up=False),
            ),
        ]

    def __str__(self) -> str:
        return f"batch {self.pk} of edition {self.edition_id}"


class BatchTotal(models.Model):
    """Counts of the rolled-up batches of an edition: the sums of the edition's rows.

    Rows are only added or merged, so that changes of two batches never wait for each other. A
    trigger adds a row with negative counts when a rolled-up batch changes or is deleted.
    """

    edition = models.ForeignKey(
        "delivery.Edition", on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    size = models.IntegerField()
    sent = models.IntegerField()
    suppressed = models.IntegerField()
    withdrawn = models.IntegerField()
    failed = models.IntegerField()
    bounced = models.IntegerField()
    complained = models.IntegerField()

    class Meta:
        db_table = "batch_total"
        default_permissions = ()

    def __str__(self) -> str:
        return f"a part of the counts of edition {self.edition_id}"

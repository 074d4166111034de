"""An attempt: one call for one batch, recorded before its first byte is sent."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from delivery.models.shared_columns import ChoiceField, ReasonField

# The `batch_id` of a check mail (delivery/provider/check_mail.py), which carries no copies.
NO_BATCH = 0


class Attempt(models.Model):
    """One call, committed before it starts.

    The attempt's id is in every message of the call, for look-ups.
    """

    class Result(models.TextChoices):
        ANSWERED = "answered", "the provider answered for every message"
        REFUSED = "refused", "the provider refused the whole call"
        NOT_SENT = "not_sent", "the call did not reach the provider"
        UNKNOWN = "unknown", "no usable answer; the provider is asked"

    id = models.UUIDField(primary_key=True)
    batch_id = models.BigIntegerField()  # Not a foreign key, because batches are split and dropped.
    edition = models.ForeignKey("delivery.Edition", on_delete=models.CASCADE, db_index=False)
    stream = models.CharField(max_length=100)
    epoch = models.PositiveIntegerField()
    worker = models.UUIDField()
    messages = models.PositiveIntegerField()
    started_at = models.DateTimeField(db_default=Now())
    deadline_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    result = ChoiceField(max_length=10, choices=Result, null=True)
    detail = ReasonField(blank=True)
    accepted = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "attempt"
        constraints = [
            models.CheckConstraint(
                name="an_attempt_cannot_accept_more_than_it_carries",
                condition=Q(accepted__lte=models.F("messages")),
            ),
            models.CheckConstraint(
                name="an_answered_attempt_has_ended",
                condition=~Q(result="answered") | Q(finished_at__isnull=False),
            ),
        ]
        indexes = [
            models.Index(name="attempt_of_edition", fields=["edition", "finished_at"]),
            models.Index(name="attempt_of_batch", fields=["batch_id"]),
            # This index finds the old attempts to delete.
            models.Index(name="attempt_by_age", fields=["started_at", "id"]),
            # This index finds mail accepted later on a stream, to judge an empty look-up.
            models.Index(
                name="attempt_accepted_later",
                fields=["stream", "started_at"],
                condition=Q(accepted__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return self.id.hex

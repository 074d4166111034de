"""A provider's event: a webhook's body, stored before it is applied."""

from django.db import models
from django.db.models.functions import Now


class ProviderEvent(models.Model):
    """One event. The same body, or another body with the same trace, is a retry of it.

    `applied_at` stays null until its effects are committed. Setting `failures` to 0 queues it
    again.
    """

    id = models.BigAutoField(primary_key=True)
    body_hash = models.BinaryField()  # SHA-256.
    trace = models.CharField(max_length=100, null=True)  # X-PM-Webhook-Trace-Id.
    # The reader's address, for data requests and erasure.
    address_key = models.CharField(max_length=254, blank=True, db_default="", db_collation="C")
    kind = models.CharField(max_length=40)  # RecordType, truncated; empty if there is none.
    body = models.BinaryField()  # As received, even if it is unreadable.
    received_at = models.DateTimeField(db_default=Now())
    applied_at = models.DateTimeField(null=True)
    # Failed tries to apply it. After a few it is quarantined.
    failures = models.PositiveSmallIntegerField(db_default=0)

    class Meta:
        db_table = "provider_event"
        constraints = [
            models.UniqueConstraint(name="an_event_is_stored_once", fields=["body_hash"]),
            models.UniqueConstraint(
                name="an_event_has_one_trace",
                fields=["trace"],
                condition=models.Q(trace__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                name="event_to_apply", fields=["id"], condition=models.Q(applied_at__isnull=True)
            ),
            models.Index(
                name="event_about", fields=["address_key"], condition=~models.Q(address_key="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind or 'event'} {self.pk}"

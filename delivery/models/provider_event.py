"""A provider's event: what a webhook said, kept as it came before anything is made of it."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class ProviderEvent(models.Model):
    """
    Stored first, applied second. The same body again is the same event.

    `applied_at` stays null until its effects are committed, so that a process killed in between
    leaves something to go on with. One that cannot be applied stays as it is; `failures` set to 0
    has it tried again.
    """

    id = models.BigAutoField(primary_key=True)
    body_hash = models.BinaryField(help_text="SHA-256 of the body; the event's key.")
    kind = models.CharField(max_length=40, help_text="RecordType, cut; empty if it names none.")
    body = models.BinaryField(help_text="As it came, whatever it is.")
    received_at = models.DateTimeField(db_default=Now())
    applied_at = models.DateTimeField(null=True)
    failures = models.PositiveSmallIntegerField(
        db_default=0, help_text="Times that applying it failed; after a few it is set aside."
    )

    class Meta:
        db_table = "provider_event"
        constraints = [
            models.UniqueConstraint(name="an_event_is_stored_once", fields=["body_hash"])
        ]
        indexes = [
            models.Index(
                name="event_to_apply",
                fields=["id"],
                condition=models.Q(applied_at__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind or 'event'} {self.pk}"

"""Evidence: acceptances that came late or twice."""

from django.db import models
from django.db.models.functions import Now


class Evidence(models.Model):
    """A fact from the provider that a delivery was accepted. Rows are only added.

    The first acceptance is in the delivery's row, because a row here for each delivery would double
    the writes.
    """

    class Source(models.TextChoices):
        REPLY = "reply"
        LOOKUP = "lookup"
        WEBHOOK = "webhook"
        OPERATOR = "operator"

    id = models.BigAutoField(primary_key=True)
    provider_message_id = models.CharField(max_length=100)
    issue_id = models.UUIDField()
    recipient_id = models.BigIntegerField()
    version = models.PositiveIntegerField()
    attempt = models.UUIDField(null=True)
    source = models.CharField(max_length=10, choices=Source)
    accepted_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "evidence"
        verbose_name_plural = "evidence"
        constraints = [
            models.UniqueConstraint(name="one_row_per_provider_id", fields=["provider_message_id"])
        ]
        indexes = [
            models.Index(
                name="evidence_of_delivery", fields=["issue_id", "recipient_id", "version"]
            )
        ]

    def __str__(self) -> str:
        return self.provider_message_id

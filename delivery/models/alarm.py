"""Alarms: records of events that must not happen but did happen."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from delivery.models.shared_columns import UNCONSTRAINED, ChoiceField, ReasonField


class Alarm(models.Model):
    """An alarm: raised once, kept forever, and shown on the edition's page.

    `about` makes the alarm unique within its kind: a message id, or a delivery's key.
    """

    class Kind(models.TextChoices):
        ACCEPTED_TWICE = "accepted_twice", "the provider accepted a second copy"
        MARKED_UNSETTLED = "marked_unsettled", "marked as sent without being settled"
        NOT_AT_PROVIDER = "not_at_provider", "recorded as sent, and the provider does not show it"
        BOUNCE_THRESHOLD = "bounce_threshold", "too many bounces or complaints"
        OTHER_ADDRESS = "other_address", "an event names another address than its copy"
        BATCH_CRASHING = "batch_crashing", "a batch crashes its workers"

    id = models.BigAutoField(primary_key=True)
    edition = models.ForeignKey("delivery.Edition", on_delete=models.CASCADE)
    kind = ChoiceField(max_length=20, choices=Kind)
    about = models.CharField(max_length=120)
    reason = ReasonField()
    raised_at = models.DateTimeField(db_default=Now())
    # The list of issues shows the alarm first until an author or operator marks it as seen.
    seen_at = models.DateTimeField(null=True)
    seen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, related_name="+", **UNCONSTRAINED
    )

    class Meta:
        db_table = "alarm"
        constraints = [
            models.UniqueConstraint(
                name="an_alarm_is_raised_once", fields=["edition", "kind", "about"]
            ),
            models.CheckConstraint(
                name="alarm_kind_is_known",
                condition=Q(
                    kind__in=[
                        "accepted_twice",
                        "marked_unsettled",
                        "not_at_provider",
                        "bounce_threshold",
                        "other_address",
                        "batch_crashing",
                    ]
                ),
            ),
        ]
        indexes = [
            models.Index(
                name="alarm_unseen", fields=["raised_at"], condition=Q(seen_at__isnull=True)
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"

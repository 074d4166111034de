"""One reader's copy of one edition, and evidence of its acceptance."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from delivery.models.shared_columns import UNCONSTRAINED, ChoiceField, ReaderColumns, ReasonField


class Outcome(models.TextChoices):
    """The outcome of a copy (docs/states.md)."""

    WAITING = "waiting"
    SENT = "sent", "accepted by the provider"
    UNKNOWN = "unknown", "its call got no usable answer; the provider is asked"
    SUPPRESSED = "suppressed", "may not be mailed"
    WITHDRAWN = "withdrawn", "the reader unsubscribed, or the edition ended, before this copy"
    FAILED = "failed", "refused address, or all tries used up"


class DeliveryManager(models.Manager["Delivery"]):
    def by_key(
        self, issue: UUID, version: int, recipients: Sequence[int]
    ) -> "models.QuerySet[Delivery]":
        """Select the copies of these few recipients; some of them may have no copy.

        With `recipient_id IN …`, PostgreSQL before 17 may read all copies of an issue that was
        published since the last ANALYZE. This query reads each copy by its whole key.
        """
        deliveries = [
            self.filter(issue_id=issue, version=version, recipient_id=recipient)
            for recipient in recipients
        ]
        return self.none().union(*deliveries, all=True)


class Delivery(ReaderColumns):
    """One reader's copy of one edition, with the key (issue, recipient, version).

    Only the key and the batch are indexed, so that the one update of a row stays within its page
    (docs/decisions/0005). Address and fields are stored at the time of publishing, so that every
    try sends the same mail. A sent time without a provider id is allowed: such a copy has to be
    looked up.
    """

    pk = models.CompositePrimaryKey("issue", "recipient", "version")
    issue = models.ForeignKey("publishing.Issue", related_name="+", **UNCONSTRAINED)
    recipient = models.ForeignKey(
        "subscribers.Subscriber", related_name="deliveries", **UNCONSTRAINED
    )
    version = models.PositiveIntegerField()
    batch = models.ForeignKey(
        "delivery.Batch", on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    address = models.CharField(max_length=254)
    # The values of the edition's `merge_fields`, in their order; null if the edition has none.
    fields = ArrayField(models.TextField(), null=True)
    outcome = ChoiceField(max_length=10, choices=Outcome, default=Outcome.WAITING)
    # When the provider accepted the copy, by the provider's clock.
    sent_at = models.DateTimeField(null=True)
    provider_message_id = models.CharField(max_length=100, null=True)
    evidence = models.CharField(max_length=10, null=True)  # reply, lookup, webhook or operator
    reason = ReasonField(null=True)  # Why the copy failed or was not sent.
    # Events after the copy was accepted, each with the earliest reported time.
    delivered_at = models.DateTimeField(null=True)
    bounced_at = models.DateTimeField(null=True)
    complained_at = models.DateTimeField(null=True)
    # Failed but not refused: the copy may be sent again.
    missed = models.BooleanField(null=True)

    objects = DeliveryManager()

    class Meta:
        db_table = "delivery"
        verbose_name_plural = "deliveries"
        constraints = [
            models.CheckConstraint(
                name="delivery_outcome_is_known", condition=Q(outcome__in=Outcome.values)
            ),
            models.CheckConstraint(
                name="sent_only_with_a_provider_id_a_time_and_evidence",
                condition=~Q(outcome="sent")
                | Q(
                    provider_message_id__isnull=False, sent_at__isnull=False, evidence__isnull=False
                ),
            ),
            models.CheckConstraint(
                name="failed_always_says_why",
                condition=~Q(outcome="failed") | Q(reason__isnull=False),
            ),
            models.CheckConstraint(
                name="only_a_failed_copy_was_missed",
                condition=Q(missed__isnull=True) | Q(missed=True, outcome="failed"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.issue_id}.{self.version}.{self.recipient_id}"


class Evidence(models.Model):
    """A fact from the provider that a delivery was accepted. Rows are only added.

    The first acceptance is in the delivery's row, because a row of evidence for each delivery would
    double the writes.
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
    source = ChoiceField(max_length=10, choices=Source)
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

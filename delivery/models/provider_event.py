"""The provider's events and suppression list, and requests to change that list."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from delivery.models.shared_columns import ChoiceField


class ProviderEvent(models.Model):
    """A webhook's body, stored before it is applied.

    Another webhook with the same body or the same trace is a retry of this webhook. `applied_at`
    stays null until the effects of the event are committed. Setting `failures` to 0 queues the
    event again.
    """

    id = models.BigAutoField(primary_key=True)
    body_hash = models.BinaryField()  # SHA-256.
    trace = models.CharField(max_length=100, null=True)  # The id that its retries share.
    # The reader's address, for data requests and erasure.
    address_key = models.CharField(max_length=254, blank=True, db_default="", db_collation="C")
    kind = models.CharField(max_length=40)  # RecordType, truncated; empty if there is none.
    body = models.BinaryField()  # As `split_webhook` returns it.
    received_at = models.DateTimeField(db_default=Now())
    applied_at = models.DateTimeField(null=True)
    # Failed tries to apply the event. After a few failures the event waits for an operator.
    failures = models.PositiveSmallIntegerField(db_default=0)

    class Meta:
        db_table = "provider_event"
        constraints = [
            models.UniqueConstraint(name="an_event_is_stored_once", fields=["body_hash"]),
            models.UniqueConstraint(
                name="an_event_has_one_trace",
                fields=["trace"],
                condition=Q(trace__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                name="event_to_apply", fields=["id"], condition=Q(applied_at__isnull=True)
            ),
            models.Index(name="event_about", fields=["address_key"], condition=~Q(address_key="")),
        ]

    def __str__(self) -> str:
        return f"{self.kind or 'event'} {self.pk}"


class ProviderSuppression(models.Model):
    """The provider's latest statement about an address and stream, by its own clock.

    Homing bases no decision on these rows. Operators see in these rows why the provider refuses an
    address.
    """

    id = models.BigAutoField(primary_key=True)
    address_key = models.CharField(max_length=254, db_collation="C")
    stream = models.CharField(max_length=100)
    refuses = models.BooleanField()  # False if the suppression was lifted.
    reason = models.CharField(max_length=40, blank=True)
    origin = models.CharField(max_length=40, blank=True)
    at = models.DateTimeField()

    class Meta:
        db_table = "provider_suppression"
        constraints = [
            models.UniqueConstraint(
                name="one_word_of_the_provider_per_address", fields=["address_key", "stream"]
            )
        ]

    def __str__(self) -> str:
        return f"{'refused' if self.refuses else 'taken again'} on {self.stream}"


class SuppressionChange(models.Model):
    """A change that we request from the provider.

    A change is written in the transaction that caused the change, and is sent afterwards. The
    change is kept forever, because the provider later reports it like any other change. Only the
    latest change of an address is sent.
    """

    class Change(models.TextChoices):
        SUPPRESS = "suppress", "mail this address no more"
        REACTIVATE = "reactivate", "mail this address again"

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        REFUSED = "refused", "the provider will not do it"
        SUPERSEDED = "superseded", "a later change of the same address took its place"

    id = models.BigAutoField(primary_key=True)
    address = models.CharField(max_length=254)
    address_key = models.CharField(max_length=254, db_collation="C")
    stream = models.CharField(max_length=100)
    change = ChoiceField(max_length=10, choices=Change)
    state = ChoiceField(
        max_length=10, choices=State, default=State.WAITING, db_default=State.WAITING
    )
    refusal_reason = models.TextField(blank=True, default="", db_default="")
    requested_at = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True)
    # The mail on request that the provider refused, by its key; empty for other causes.
    delivery = models.CharField(max_length=64, blank=True, default="", db_default="")
    # Whether the mail in `delivery` is sent again once the provider has lifted the suppression.
    delivery_waits = models.BooleanField(default=False, db_default=False)

    class Meta:
        db_table = "suppression_change"
        constraints = [
            models.CheckConstraint(
                name="suppression_change_is_known",
                condition=Q(change__in=["suppress", "reactivate"]),
            ),
            models.CheckConstraint(
                name="suppression_change_state_is_known",
                condition=Q(state__in=["waiting", "done", "refused", "superseded"]),
            ),
            models.CheckConstraint(
                name="a_refused_change_says_why",
                condition=~Q(state="refused") | ~Q(refusal_reason=""),
            ),
        ]
        indexes = [
            models.Index(name="suppression_change_of", fields=["address_key", "id"]),
            models.Index(
                name="suppression_change_to_send", fields=["id"], condition=Q(state="waiting")
            ),
            models.Index(
                name="suppression_change_of_mail", fields=["id"], condition=Q(delivery_waits=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.change} {self.pk}"

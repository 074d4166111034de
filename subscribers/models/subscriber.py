"""A subscriber: one person on the list, by one address."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from delivery.control_characters import POSTGRESQL_PATTERN
from subscribers.models.suppression import LONGEST_ADDRESS

LONGEST_NAME = 256


class Subscriber(models.Model):
    """
    A person on the list.

    `email` is the address as typed, its domain in lower case and in ASCII, because that is what
    Postmark accepts. `email_key` is its case-folded form, kept by the database itself; it makes a
    person unique. The state says whether they are mailed: only `confirmed` readers are, and only
    while their address is on no suppression list.

    Leaving is this person's state and not an entry of the suppression list: that list is about
    addresses we must not mail whoever asks. Of what befalls a reader the gravest stays: a complaint
    before leaving before a bounce, so the order in which it is told makes no difference.
    `unsubscribed_at` records the wish to leave also beside a complaint.

    It is a ratchet, held by triggers: only `opt_in`, a fresh consent of the person themselves,
    leads back to `confirmed`. An address never changes, and nobody's row goes but by erasure or as
    a sign-up that was never confirmed.
    """

    class State(models.TextChoices):
        """Where a reader stands."""

        PENDING = "pending", "has not confirmed yet"
        CONFIRMED = "confirmed", "wants the letter"
        UNSUBSCRIBED = "unsubscribed", "has left"
        BOUNCED = "bounced", "the address does not take mail"
        COMPLAINED = "complained", "called it spam"

    class Source(models.TextChoices):
        """How this person came onto the list."""

        IMPORT = "import"
        SIGN_UP = "sign-up"
        API = "api"

    id = models.BigAutoField(primary_key=True)
    email = models.CharField(max_length=LONGEST_ADDRESS, db_collation="C")
    email_key = models.GeneratedField(
        expression=Lower("email"),
        output_field=models.CharField(max_length=LONGEST_ADDRESS, db_collation="C"),
        db_persist=True,
    )
    name = models.CharField(max_length=LONGEST_NAME, blank=True, default="")
    state = models.CharField(max_length=12, choices=State, default=State.PENDING)
    source = models.CharField(max_length=10, choices=Source, default=Source.SIGN_UP)
    # Not indexed: asked for rarely, and it would cost every row of every import.
    subscriber_import = models.ForeignKey(
        "subscribers.SubscriberImport",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        related_name="subscribers",
        help_text="The import that brought them; it says whether consent was stated there.",
    )
    created_at = models.DateTimeField(db_default=Now())
    confirmed_at = models.DateTimeField(null=True, blank=True)
    unsubscribed_at = models.DateTimeField(null=True, blank=True)
    gone_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When they left, bounced or complained; set by the database itself.",
    )
    requests = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Confirmation mails asked for so far."
    )
    record_requests = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Mails asked for with the way to their own record."
    )
    opt_in = models.ForeignKey(
        "subscribers.ConsentRecord",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
        help_text="Their own confirmation, by which they came or came back.",
    )

    class Meta:
        db_table = "subscriber"
        permissions = [("manage_readers", "Can see, import, export and erase readers")]
        indexes = [
            # Who may be forgotten soon; few, however long the list.
            models.Index(
                name="subscriber_pending_since",
                fields=["created_at"],
                condition=Q(state="pending"),
            )
        ]
        constraints = [
            models.UniqueConstraint(name="one_subscriber_per_address", fields=["email_key"]),
            models.CheckConstraint(
                name="an_address_is_printable_ascii_around_one_at_sign",
                condition=Q(email__regex=r"^[!-?A-~]+@[!-?A-~]+$"),
            ),
            models.CheckConstraint(
                name="a_name_is_free_of_control_characters",
                condition=~Q(name__regex=POSTGRESQL_PATTERN),
            ),
            models.CheckConstraint(
                name="subscriber_state_is_known",
                condition=Q(
                    state__in=["pending", "confirmed", "unsubscribed", "bounced", "complained"]
                ),
            ),
            models.CheckConstraint(
                name="an_imported_subscriber_names_the_import",
                condition=Q(source="import", subscriber_import__isnull=False)
                | Q(source__in=["sign-up", "api"], subscriber_import__isnull=True),
            ),
            models.CheckConstraint(
                name="a_confirmed_subscriber_says_since_when",
                condition=~Q(state="confirmed") | Q(confirmed_at__isnull=False),
            ),
            models.CheckConstraint(
                name="a_pending_subscriber_never_confirmed",
                condition=~Q(state="pending") | Q(confirmed_at__isnull=True),
            ),
            models.CheckConstraint(
                name="an_unsubscribed_subscriber_says_since_when",
                condition=~Q(state="unsubscribed") | Q(unsubscribed_at__isnull=False),
            ),
            models.CheckConstraint(
                name="who_left_is_neither_pending_nor_confirmed",
                condition=Q(unsubscribed_at__isnull=True) | ~Q(state__in=["pending", "confirmed"]),
            ),
        ]

    def __str__(self) -> str:
        return f"subscriber {self.pk}"

    @property
    def since(self) -> datetime:
        """Since when they have been in their state."""
        return self.gone_at or self.confirmed_at or self.created_at

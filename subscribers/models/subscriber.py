"""Subscribers: the readers on the list, by address."""

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _

from delivery.control_characters import POSTGRESQL_PATTERN
from delivery.models.shared_columns import ChoiceField, ReaderColumns
from delivery.reader_fields import FIELD_NAMES
from subscribers.models.constraints import checks, unconstrained_key, unindexed_key
from subscribers.models.suppression import LONGEST_ADDRESS


class Subscriber(ReaderColumns):
    """A reader on the list.

    The most serious state wins, in whatever order the events arrive.

    Triggers ensure that only a reader's own new consent, `opt_in`, can set the state `confirmed`
    again. The words that pages show for the states are in `personal_data_sentences.py`.
    """

    class State(models.TextChoices):
        PENDING = "pending", "has not confirmed yet"
        CONFIRMED = "confirmed", "confirmed"
        UNSUBSCRIBED = "unsubscribed", "unsubscribed"
        BOUNCED = "bounced", "mail to this address bounced"
        COMPLAINED = "complained", "marked a letter as spam"

    class Source(models.TextChoices):
        IMPORT = "import"
        SIGN_UP = "sign-up"
        API = "api"
        DESK = "desk"

    id = models.BigAutoField(primary_key=True)
    email = models.CharField(max_length=LONGEST_ADDRESS, db_collation="C")
    email_key = models.GeneratedField(
        expression=Lower("email"),
        output_field=models.CharField(max_length=LONGEST_ADDRESS, db_collation="C"),
        db_persist=True,
    )
    # The values of the author's own fields by key; empty values are left out. A constraint in the
    # database checks the values.
    fields = models.JSONField(default=dict, db_default={})
    # Sorted ids of tags. This column has no index, because one scan of the table can count the
    # readers of all tags.
    tags = ArrayField(models.IntegerField(), default=list, db_default=[])
    # The ids of topics that the reader left. Only the reader can choose these topics again.
    left_topics = ArrayField(models.IntegerField(), default=list, db_default=[])
    state = ChoiceField(max_length=12, choices=State, default=State.PENDING)
    source = ChoiceField(max_length=10, choices=Source, default=Source.SIGN_UP)
    # This column has no index: it is rarely searched, and an index would slow down every import.
    subscriber_import = unindexed_key(
        "subscribers.SubscriberImport", blank=True, related_name="subscribers"
    )
    created_at = models.DateTimeField(db_default=Now())
    confirmed_at = models.DateTimeField(null=True, blank=True)
    unsubscribed_at = models.DateTimeField(null=True, blank=True)
    gone_at = models.DateTimeField(null=True, editable=False)  # set by the database
    # The time of the last change after the reader was added; set by the database.
    edited_at = models.DateTimeField(null=True, editable=False)
    requests = models.PositiveIntegerField(default=0, db_default=0)  # for confirmation mails
    record_requests = models.PositiveIntegerField(default=0, db_default=0)
    # The record of the reader's own confirmation.
    opt_in = unconstrained_key(
        "subscribers.ConsentRecord", db_index=False, null=True, blank=True, related_name="+"
    )

    class Meta:
        db_table = "subscriber"
        permissions = [("manage_readers", _("Can see, import, export and erase readers"))]
        indexes = [
            # This index finds unconfirmed readers whose time to confirm has ended. The index is
            # small, because few readers are unconfirmed.
            models.Index(
                name="subscriber_pending_since", fields=["created_at"], condition=Q(state="pending")
            ),
            # This index lists the readers in a state. Another index, `subscriber_search`, is in
            # `desk/sql/subscriber_search.sql`.
            models.Index(name="subscriber_by_state", fields=["state", "id"]),
            # The list of readers can be sorted by name. This index needs 35 MB for 1,000,000
            # readers (docs/decisions/0071-sign-up-and-list-of-readers.md).
            models.Index(Lower("name"), "id", name="subscriber_by_name"),
        ]
        constraints = [
            models.UniqueConstraint(name="one_subscriber_per_address", fields=["email_key"]),
            *checks(
                an_address_is_printable_ascii_around_one_at_sign=Q(
                    email__regex=r"^[!-?A-~]+@[!-?A-~]+$"
                ),
                **{
                    f"a_{name}_is_free_of_control_characters": ~Q(
                        **{f"{name}__regex": POSTGRESQL_PATTERN}
                    )
                    for name in FIELD_NAMES
                },
                subscriber_state_is_known=Q(
                    state__in=["pending", "confirmed", "unsubscribed", "bounced", "complained"]
                ),
                an_imported_subscriber_names_the_import=Q(
                    source="import", subscriber_import__isnull=False
                )
                | Q(source__in=["sign-up", "api", "desk"], subscriber_import__isnull=True),
                a_confirmed_subscriber_says_since_when=~Q(state="confirmed")
                | Q(confirmed_at__isnull=False),
                a_pending_subscriber_never_confirmed=~Q(state="pending")
                | Q(confirmed_at__isnull=True),
                an_unsubscribed_subscriber_says_since_when=~Q(state="unsubscribed")
                | Q(unsubscribed_at__isnull=False),
                who_left_is_neither_pending_nor_confirmed=Q(unsubscribed_at__isnull=True)
                | ~Q(state__in=["pending", "confirmed"]),
            ),
        ]

    def __str__(self) -> str:
        return f"subscriber {self.pk}"

    @property
    def values_of_fields(self) -> dict[str, str]:
        """The reader's values, by the name of the field."""
        return {**self.fields, **super().values_of_fields}

    @property
    def since(self) -> datetime:
        return self.gone_at or self.confirmed_at or self.created_at


class ReaderTotal(models.Model):
    """One of the rows whose sum is the number of readers in a state.

    Triggers add a row whenever readers are added, deleted or change their state. Triggers never
    update a row, so that two changes never wait for each other. A worker merges the rows.
    """

    state = models.CharField(max_length=12)
    readers = models.IntegerField()

    class Meta:
        db_table = "reader_total"
        default_permissions = ()


class NewReaders(models.Model):
    """One of the rows whose sum is a month's number of new readers from a source.

    New readers are readers who were confirmed in the month, in UTC.

    Triggers add a row with each change, so that two changes never wait for each other. A worker
    merges the rows. No row names a reader.
    """

    month = models.DateField()
    # A key of `How` or `Subscriber.Source`.
    source = models.CharField(max_length=13)
    readers = models.IntegerField()

    class Meta:
        db_table = "new_readers"
        default_permissions = ()

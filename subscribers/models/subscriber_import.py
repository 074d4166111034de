"""Imports (files of readers, from the upload to the report) and rejected rows."""

import sys
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from delivery.models.shared_columns import ChoiceField
from delivery.tasks.leased_task_columns import LeasedTask
from subscribers.files.file_pieces import FilePiece
from subscribers.models.constraints import checks, unconstrained_key
from subscribers.models.suppression import LONGEST_ADDRESS

LONGEST_STATEMENT = 300
RESULTS = ("added", "known", "duplicates", "skipped", "rejected")  # the possible results of a row
# The counting columns have these values until a check or an import has read the first row.
NO_COUNTS: Mapping[str, Any] = {
    **dict.fromkeys(("rows", *RESULTS, "done"), 0),
    "skipped_because": {},
    "statuses": {},
    "tags_in_file": {},
    "tag_values": {},
}
KEPT = ("kept_mailed", "kept_opted_in", "kept_changed")  # readers whom an undo keeps
# A key in `statuses`: counts the added readers who stay pending even with --confirmed.
ADDED_PENDING = "added, pending"
# A key in `statuses`: counts the new readers whom the import would confirm only with the option
# --list-is-confirmed.
ADDED_UNSTATED = "added, unstated"
GONE = ("blocked", "bounced", "unsubscribed", "complained")  # statuses of rows
LONGEST_EXCERPT = 320  # long enough to recognise a row


class State(models.TextChoices):
    CHECKING = "checking", "is being checked"
    CHECKED = "checked", "checked, not imported"
    WAITING = "waiting", "waits for a worker"
    RUNNING = "running", "is being imported"
    FINISHED = "finished", "finished"
    REFUSED = "refused", "refused"
    EXPIRED = "expired", "never imported, deleted"
    UNDOING = "undoing", "is being undone"
    UNDONE = "undone", "undone"


# After these states, an upload of the same content is a new import: the file was deleted, or its
# readers were removed.
WITHOUT_CONTENT = (State.EXPIRED, State.UNDONE)


class SubscriberImport(LeasedTask):
    """One file, identified by a hash of its content and of the uses of its columns.

    An import cannot be deleted, because its statement is the reason why its readers may be mailed.
    `rows` is the checkpoint. `done` is the number of bytes read, and `total` the size of the file.
    `requested_at` is the time of the upload, and later the time of the decision to import. The
    states in which a file is checked or an import is undone belong to `OPEN` too.
    """

    State = State
    OPEN = (State.CHECKING, State.WAITING, State.RUNNING, State.UNDOING)
    SHORTEST_LEASE_S = 2.0  # a chunk takes a few tenths of a second
    MOST_CLAIMS = 10

    content_hash = models.BinaryField()
    filename = models.CharField(max_length=255)
    confirmed = models.BooleanField()  # the importer states that consent was given elsewhere
    statement = models.CharField(
        max_length=LONGEST_STATEMENT, blank=True, default="", db_default=""
    )
    # The importer states that the exported list held only confirmed subscriptions. The statement
    # counts only for rows whose status says nothing about the subscription.
    list_is_confirmed = models.BooleanField(default=False, db_default=False)
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        db_index=False,
        related_name="+",
    )
    tags = ArrayField(models.IntegerField(), default=list, db_default=[])  # for all its readers
    # Send the welcome letter to added readers who are confirmed.
    welcome = models.BooleanField(default=False, db_default=False)
    rows = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    known = models.PositiveIntegerField(default=0)
    duplicates = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    skipped_because = models.JSONField(default=dict)  # counts by the reason's code
    statuses = models.JSONField(default=dict, db_default={})  # counts of rows by status
    tags_in_file = models.JSONField(default=dict, db_default={})  # counts of rows by the tag's name
    # For columns that say whether a reader has a tag: counts of rows by tag and kind of answer.
    tag_values = models.JSONField(default=dict, db_default={})
    # Pairs of a column and its field: columns that were mapped by hand, and columns that were
    # recognised as the author's own fields.
    mapping = models.JSONField(default=list, db_default=[])
    read_as = models.JSONField(null=True)  # how the file was read
    # The ids of the tags and the keys of the fields that the import added. An undo can delete these
    # tags and fields.
    made = models.JSONField(default=dict, db_default={})
    upload = models.UUIDField(null=True)  # files that were uploaded together have the same value
    checked_at = models.DateTimeField(null=True)  # since this time, the import waits for a decision
    # What an undo did with the added readers. `undo_checkpoint` is the highest reader's id that the
    # undo has handled.
    undone = models.PositiveIntegerField(default=0, db_default=0)
    kept_mailed = models.PositiveIntegerField(default=0, db_default=0)
    kept_opted_in = models.PositiveIntegerField(default=0, db_default=0)
    kept_changed = models.PositiveIntegerField(default=0, db_default=0)
    undo_checkpoint = models.BigIntegerField(default=0, db_default=0)
    undone_at = models.DateTimeField(null=True)
    # The tags and fields in `made` that an undo deleted, and those that it kept; null if the undo
    # was not asked to delete any.
    unmade = models.JSONField(null=True)

    class Meta:
        db_table = "subscriber_import"
        verbose_name = "import"
        constraints = [
            models.UniqueConstraint(
                name="one_import_per_content",
                fields=["content_hash"],
                condition=~Q(state__in=["expired", "undone"]),
            ),
            *checks(
                the_rows_of_an_import_add_up=Q(
                    rows=F("added") + F("known") + F("duplicates") + F("skipped") + F("rejected")
                ),
                an_import_does_not_end_before_it_starts=Q(finished_at__isnull=True)
                | Q(finished_at__gte=F("requested_at")),
                import_state_is_known=Q(state__in=list(State.values)),
                an_import_that_has_ended_says_when=Q(
                    state__in=["finished", "refused", "expired", "undoing", "undone"],
                    finished_at__isnull=False,
                )
                | Q(
                    state__in=["checking", "checked", "waiting", "running"],
                    finished_at__isnull=True,
                ),
                a_refused_import_says_why=~Q(state="refused") | Q(error__isnull=False),
                a_checked_import_says_since_when=~Q(state="checked") | Q(checked_at__isnull=False),
                an_expired_import_brought_nobody=~Q(state="expired") | Q(rows=0, confirmed=False),
                a_confirmed_list_has_a_statement=Q(list_is_confirmed=False) | Q(confirmed=True),
                an_undone_import_says_when=Q(state="undone", undone_at__isnull=False)
                | (~Q(state="undone") & Q(undone_at__isnull=True)),
                an_undo_counts_added_readers_once=Q(
                    added__gte=F("undone")
                    + F("kept_mailed")
                    + F("kept_opted_in")
                    + F("kept_changed")
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"import {self.pk} of {self.filename}"

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows so far, in total and by result."""
        return {name: getattr(self, name) for name in ("rows", *RESULTS)}

    @property
    def percent(self) -> int:
        """The progress of the import, or of its undo, in per cent."""
        if self.state == State.UNDOING:
            return 100 * (self.undone + self.kept) // max(self.added, 1)
        return super().percent

    @property
    def most_claims(self) -> int:
        """Return how many times the task may be claimed; an undo has no limit."""
        return sys.maxsize if self.state == State.UNDOING else self.MOST_CLAIMS

    def give_up(self) -> dict[str, Any]:
        error = {"code": "import_stuck", "parameters": {"times": self.MOST_CLAIMS}}
        return {"state": State.REFUSED, "error": error}

    def clear(self, end: str) -> None:
        columns: dict[str, Any] = {}
        if end == State.REFUSED and self.state == State.CHECKING:
            columns |= {**NO_COUNTS, "done": self.done}  # a refused check loses its counts
        if end in (State.FINISHED, State.REFUSED):
            ImportPiece.objects.filter(subscriber_import=self).delete()
            # Delete the examples of the file's rows, and the names of its columns.
            columns |= {"read_as": self.read_as and self.read_as | {"examples": [], "columns": []}}
        if columns:
            SubscriberImport.objects.filter(pk=self.pk).update(**columns)

    @property
    def can_be_undone(self) -> bool:
        """Return whether the import has ended and may have added readers.

        `start_undo` repeats this check.
        """
        return self.state == State.FINISHED or (self.state == State.REFUSED and self.rows > 0)

    @property
    def kept(self) -> int:
        """The number of readers whom the undo has left on the list so far."""
        return sum(getattr(self, name) for name in KEPT)

    @property
    def undo_counts(self) -> dict[str, int]:
        """The number of added readers, by what the undo did with them.

        `deleted` counts the readers who were deleted before the undo.
        """
        counts = {name: getattr(self, name) for name in ("undone", *KEPT)}
        deleted = self.added - self.undone - self.kept if self.state == State.UNDONE else 0
        return {**counts, "deleted": deleted}

    @property
    def pending(self) -> int:
        """The number of added readers who stay pending, even with a statement of consent."""
        return int(self.statuses.get(ADDED_PENDING, 0))

    @property
    def unstated(self) -> int:
        """After a check: how many readers the statement `list_is_confirmed` would confirm."""
        return int(self.statuses.get(ADDED_UNSTATED, 0))

    @property
    def names_leavers(self) -> bool:
        """Return whether any row names a reader who must not be mailed."""
        return any(self.statuses.get(status) for status in GONE)

    @property
    def leaves_subscriptions_open(self) -> bool:
        """Return whether any row has a status that says nothing about the subscription."""
        return bool(self.statuses.get("unstated"))

    @property
    def ready(self) -> int:
        """The number of added readers who are not `pending`."""
        return self.added - self.pending


class ImportPiece(FilePiece):
    """A piece of the file, stored until the import ends."""

    pk = models.CompositePrimaryKey("subscriber_import_id", "number")
    subscriber_import = unconstrained_key(
        "subscribers.SubscriberImport", db_index=False, related_name="pieces"
    )

    class Meta:
        db_table = "import_piece"
        default_permissions = ()


class ImportSeenAddress(models.Model):
    """An address that an open import has read, to find duplicates in constant memory."""

    pk = models.CompositePrimaryKey("subscriber_import_id", "email_key")
    subscriber_import = unconstrained_key(
        "subscribers.SubscriberImport", db_index=False, related_name="+"
    )
    email_key = models.CharField(max_length=LONGEST_ADDRESS, db_collation="C")
    line = models.PositiveIntegerField()  # from 1
    has_left = models.BooleanField(default=False, db_default=False)  # according to some row

    class Meta:
        db_table = "import_seen_address"
        default_permissions = ()


class RejectedRow(models.Model):
    """A row that was rejected or skipped. `reason` is a code."""

    class Result(models.TextChoices):
        REJECTED = "rejected"
        SKIPPED = "skipped"

    id = models.BigAutoField(primary_key=True)
    subscriber_import = models.ForeignKey(
        "subscribers.SubscriberImport",
        db_index=False,
        on_delete=models.CASCADE,
        related_name="rejected_rows",
    )
    line = models.PositiveIntegerField()  # from 1
    result = ChoiceField(max_length=8, choices=Result)
    email = models.CharField(max_length=LONGEST_EXCERPT, blank=True)
    reason = models.CharField(max_length=40)
    parameters = models.JSONField(default=dict, db_default={})

    class Meta:
        db_table = "rejected_row"
        constraints = [
            models.UniqueConstraint(
                name="a_row_is_rejected_once", fields=["subscriber_import", "line"]
            ),
            *checks(a_row_was_rejected_or_skipped=Q(result__in=["rejected", "skipped"])),
        ]

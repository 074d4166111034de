"""An edition: the fixed content of a published version, and the edition's state."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from delivery.models.shared_columns import UNCONSTRAINED, ChoiceField, ReasonField


class Edition(models.Model):
    """One version of one issue, from which every copy is made.

    `control` is what holds the edition back. A trigger of the first migration refuses changes of
    the content. The edition's state is derived from its batches
    (`delivery/rules/edition_state.py`).
    """

    class Kind(models.TextChoices):
        NEWSLETTER = "newsletter"
        CONFIRMATION = "confirmation", "asks a new reader to confirm"
        RECORD = "record", "links to the data that is stored about an address"
        WELCOME = "welcome", "greets a reader after the opt-in"
        TEST = "test", "shows its author a letter before publication"
        INVITATION = "invitation", "invites an author to the desk"

    class Control(models.TextChoices):
        """Whether the edition may be sent now, and if not, the reason."""

        SCHEDULED = "scheduled", "waits for its time; it has no audience before"
        RUNNING = "running"
        PAUSED = "paused", "paused by an author, or because too many bounced or complained"
        STOPPED = "stopped", "stopped by a fault of the account or the content"
        CANCELLED = "cancelled"
        CLOSED = "closed", "closed by an author who accepted the rest"

    class GoesTo(models.TextChoices):
        """The readers that an edition goes to."""

        EVERYONE = "everyone", "everyone confirmed when it was published"
        REACHED = "reached", "confirmed readers who were sent an earlier version"
        UNREACHED = "unreached", "confirmed readers for whom no version is sent or unknown"
        NOBODY = "nobody", "nobody: only the archive changes"

    id = models.BigAutoField(primary_key=True)
    issue = models.ForeignKey("publishing.Issue", related_name="editions", **UNCONSTRAINED)
    version = models.PositiveIntegerField()
    kind = ChoiceField(max_length=20, choices=Kind, default=Kind.NEWSLETTER)
    stream = models.CharField(max_length=100)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, related_name="+", **UNCONSTRAINED
    )
    idempotency_key = models.CharField(max_length=49, null=True)

    title = models.CharField(max_length=500)
    preview_text = models.CharField(max_length=300, blank=True, default="", db_default="")
    # Where replies go; empty for the newsletter's address.
    reply_to = models.CharField(max_length=254, blank=True, default="", db_default="")
    html_content = models.TextField(blank=True)
    text_content = models.TextField(blank=True)
    html_mail = models.TextField(blank=True)  # The whole HTML part, with frame and merge fields.
    text_mail = models.TextField(blank=True)  # The whole text part, with footer and merge fields.
    # The keys of the author's own fields in the mail, in the order of `Delivery.fields`.
    merge_fields = ArrayField(models.CharField(max_length=30), default=list, db_default=[])
    content_hash = models.BinaryField()  # SHA-256 of what the author wrote.
    # The sender of a test letter that tries another sender; empty for the newsletter's sender.
    sender = models.CharField(max_length=400, blank=True, default="", db_default="")
    # The sender, reply address and name that a second person approved; empty without an approval.
    approved_sender = models.TextField(blank=True, default="", db_default="")
    archive_url = models.CharField(max_length=500, blank=True)

    published_at = models.DateTimeField(db_default=Now())
    held_until = models.DateTimeField(db_default=Now())
    # 0 for transactional mail, whose audience is the sum of the sizes of its batches.
    audience = models.PositiveIntegerField(default=0)
    # The number of all confirmed readers when the audience was settled, even if the edition went to
    # only some of them. Null if these readers were not counted.
    confirmed_readers = models.PositiveIntegerField(null=True)

    # The scheduled time in UTC, and as the author entered it: 2026-10-25T07:30 in Europe/Lisbon.
    scheduled_for = models.DateTimeField(null=True)
    scheduled_local = models.CharField(max_length=16, default="", db_default="")
    scheduled_zone = models.CharField(max_length=64, default="", db_default="")

    # Who approved the edition. Set if the approval of a second author is required.
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, related_name="+", **UNCONSTRAINED
    )

    # Who saved the text last, if the approver published it.
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, related_name="+", **UNCONSTRAINED
    )

    # A first version goes to everyone or to nobody.
    goes_to = ChoiceField(
        max_length=10, choices=GoesTo, default=GoesTo.EVERYONE, db_default=GoesTo.EVERYONE
    )

    # A correction that readers see no note about, because only something small was changed.
    without_note = models.BooleanField(default=False, db_default=False)

    # The readers of the edition have at least one of `with_tags` and none of `without_tags`. Each
    # tag is a pair of id and name. The names are the tags' names at publication, so that renaming a
    # tag changes no record.
    with_tags = models.JSONField(default=list, db_default=[])
    without_tags = models.JSONField(default=list, db_default=[])

    control = ChoiceField(max_length=20, choices=Control, default=Control.RUNNING)
    control_reason = ReasonField(blank=True)
    control_at = models.DateTimeField(null=True)
    probing = models.BooleanField(default=False)  # Resumed after a fault: one batch goes first.
    # When Homing detected that the database was restored. The edition resumes only after
    # reconciling.
    unreconciled_since = models.DateTimeField(null=True)

    # After this time, the edition's deliveries are not used, but some rows may remain.
    deliveries_dropped_at = models.DateTimeField(null=True)

    # The counts at the last resume, from which bounce and complaint rates are measured.
    watched_left = models.PositiveIntegerField(default=0, db_default=0)
    watched_bounced = models.PositiveIntegerField(default=0, db_default=0)
    watched_complained = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        db_table = "edition"
        constraints = [
            models.UniqueConstraint(
                name="one_edition_per_issue_and_version", fields=["issue", "version"]
            ),
            # The key of a publication is permanent, unlike the saved answer of a form, which
            # expires.
            models.UniqueConstraint(
                name="an_author_publishes_once_per_key", fields=["author", "idempotency_key"]
            ),
            models.CheckConstraint(name="versions_count_from_one", condition=Q(version__gte=1)),
            models.CheckConstraint(
                name="an_edition_has_text_or_html", condition=~Q(html_mail="") | ~Q(text_mail="")
            ),
            models.CheckConstraint(
                name="an_edition_is_not_held_before_it_is_published",
                condition=Q(held_until__gte=F("published_at")),
            ),
            models.CheckConstraint(
                name="edition_kind_is_known",
                condition=Q(
                    kind__in=[
                        *("newsletter", "confirmation", "record", "welcome", "test"),
                        "invitation",
                    ]
                ),
            ),
            # If an edition of mail on request ended, the next reader who requests the mail would
            # get nothing.
            models.CheckConstraint(
                name="mail_on_request_never_ends",
                condition=Q(kind="newsletter") | ~Q(control__in=["cancelled", "closed"]),
            ),
            models.CheckConstraint(
                name="edition_control_is_known",
                condition=Q(
                    control__in=["scheduled", "running", "paused", "stopped", "cancelled", "closed"]
                ),
            ),
            models.CheckConstraint(
                name="edition_goes_to_is_known",
                condition=Q(goes_to__in=["everyone", "reached", "unreached", "nobody"]),
            ),
            models.CheckConstraint(
                name="nothing_runs_before_it_is_reconciled",
                condition=Q(unreconciled_since__isnull=True) | ~Q(control="running"),
            ),
            models.CheckConstraint(
                name="a_scheduled_edition_says_when",
                condition=~Q(control="scheduled")
                | (
                    Q(kind="newsletter")
                    & Q(scheduled_for__isnull=False)
                    & ~Q(scheduled_local="")
                    & ~Q(scheduled_zone="")
                ),
            ),
            models.CheckConstraint(
                name="nobody_is_in_the_audience_before_its_time",
                condition=~Q(control="scheduled") | Q(audience=0),
            ),
            models.CheckConstraint(
                name="two_people_stand_behind_an_approved_edition",
                condition=Q(approved_by__isnull=True)
                | ~Q(approved_by=F("author"))
                | Q(written_by__isnull=False) & ~Q(written_by=F("approved_by")),
            ),
            models.CheckConstraint(
                name="deliveries_are_dropped_only_of_ended_editions",
                condition=Q(deliveries_dropped_at__isnull=True)
                | Q(
                    kind="newsletter",
                    control__in=["running", "cancelled", "closed"],
                    probing=False,
                    unreconciled_since__isnull=True,
                ),
            ),
            models.CheckConstraint(
                name="only_a_test_letter_tries_a_sender",
                condition=Q(sender="") | Q(kind="test"),
            ),
            models.CheckConstraint(
                name="only_a_correction_of_the_page_has_no_note",
                condition=Q(without_note=False) | Q(goes_to="nobody"),
            ),
            models.CheckConstraint(
                name="a_stopped_edition_says_why",
                condition=~Q(control="stopped") | ~Q(control_reason=""),
            ),
        ]
        indexes = [
            # This index finds the few editions that have not ended, without reading editions that
            # have ended.
            models.Index(
                name="edition_held_back",
                fields=["control"],
                condition=Q(control__in=["scheduled", "paused", "stopped"]),
            )
        ]

    def __str__(self) -> str:
        return f"{self.title}, version {self.version}"


class EditionResult(models.Model):
    """Delivered copies and unsubscribed readers of an edition.

    The numbers of an edition are the sums of all its rows. Each event adds a row, and a worker
    merges them, so that two events never wait for each other. Bounces and complaints are counted in
    the batches, because they can pause an edition.
    """

    edition = models.ForeignKey(
        "delivery.Edition", on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
    )
    delivered = models.IntegerField(default=0, db_default=0)
    unsubscribed = models.IntegerField(default=0, db_default=0)

    class Meta:
        db_table = "edition_result"
        default_permissions = ()

    def __str__(self) -> str:
        return f"a part of the results of edition {self.edition_id}"

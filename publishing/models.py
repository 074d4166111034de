"""The tables of the desk: issues, drafts, snippets, receipts, images, checks."""

import uuid
from dataclasses import fields

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Length, Lower, Now
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from delivery.issue_attributes import TITLE
from delivery.models import Edition
from delivery.models.shared_columns import ChoiceField
from delivery.tasks.leased_task_columns import LeasedTask
from idempotency.key import LONGEST_KEY, fresh_key
from publishing.content.draft_content import DraftFields
from subscribers.files.file_pieces import FilePiece

LARGEST_IMAGE = 2 * 1024 * 1024
LONGEST_MOVED_KEY = 120
LONGEST_SNIPPET_NAME = 60
models.BinaryField.register_lookup(Length)


class Visibility(models.TextChoices):
    """Where readers find an issue on the web."""

    PUBLIC = "public", _("Public in the archive")
    UNLISTED = "unlisted", _("Unlisted")
    NONE = "none", _("Not in the archive")


class Issue(models.Model):
    """An issue: its title, and the address of its page in the archive."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    title = models.CharField(max_length=500)
    slug = models.SlugField(max_length=80, allow_unicode=True)
    created_at = models.DateTimeField(db_default=Now())
    # If True, no list links to the issue's page.
    unlisted = models.BooleanField(default=False, db_default=False)
    # If `has_page` is False, `unlisted` is True, because the previous release knows only
    # `unlisted`.
    has_page = models.BooleanField(default=True, db_default=True)
    # The visibility that the author chose for version 1. A repeated post is compared with this
    # choice.
    published_unlisted = models.BooleanField(default=False, db_default=False)
    published_with_page = models.BooleanField(default=True, db_default=True)
    # The product from which the issue was moved in; empty if it was written here.
    moved_from = models.CharField(max_length=12, blank=True, default="", db_default="")

    class Meta:
        db_table = "issue"
        permissions = [
            ("write_draft", gettext_noop("Can write drafts, preview them and send tests of them")),
            ("publish_edition", gettext_noop("Can publish editions to readers")),
            ("operate_sending", gettext_noop("Can pause, resume and settle what is going out")),
        ]
        constraints = [
            models.UniqueConstraint(name="one_issue_per_archive_address", fields=["slug"])
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def visibility(self) -> Visibility:
        """Where readers find the issue now."""
        return _visibility(unlisted=self.unlisted, has_page=self.has_page)

    @property
    def published_visibility(self) -> Visibility:
        """Where readers found the issue after its first version was published."""
        return _visibility(unlisted=self.published_unlisted, has_page=self.published_with_page)

    @property
    def moved_words(self) -> str:
        """A sentence that says where a moved-in issue comes from; empty for other issues."""
        if not self.moved_from:
            return ""
        sentence = gettext("Moved in from {product}; not sent from here.")
        return sentence.format(product=self.moved_from.title())


def _visibility(*, unlisted: bool, has_page: bool) -> Visibility:
    if not unlisted:
        return Visibility.PUBLIC
    return Visibility.UNLISTED if has_page else Visibility.NONE


class Draft(models.Model):
    """An author's text; the `key` ensures that it is published only once.

    Every save increments `revision`.
    """

    class Format(models.TextChoices):
        """The format of the letter."""

        MARKDOWN = "markdown", "Markdown"
        HTML = "html", "HTML"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    key = models.CharField(max_length=LONGEST_KEY, default=fresh_key)
    issue = models.ForeignKey(
        "publishing.Issue", on_delete=models.CASCADE, null=True, related_name="drafts"
    )
    goes_to = ChoiceField(
        max_length=10,
        choices=Edition.GoesTo,
        default=Edition.GoesTo.EVERYONE,
        db_default=Edition.GoesTo.EVERYONE,
    )
    # A value of `Visibility`; empty if the author has not chosen one.
    archive = models.CharField(max_length=8, blank=True, default="", db_default="")
    # The previous release uses this column instead of `archive`.
    unlisted = models.BooleanField(default=False, db_default=False)
    # Whether readers see no note that the version is a correction.
    without_note = models.BooleanField(default=False, db_default=False)
    # Sorted ids of tags. The audience consists of readers with any tag of `with_tags` and no tag of
    # `without_tags`.
    with_tags = ArrayField(models.IntegerField(), default=list, db_default=[])
    without_tags = ArrayField(models.IntegerField(), default=list, db_default=[])

    title = models.TextField(blank=True, db_default="")
    preview_text = models.TextField(blank=True, db_default="")
    reply_to = models.TextField(blank=True, default="", db_default="")
    format = ChoiceField(
        max_length=10, choices=Format, default=Format.MARKDOWN, db_default=Format.MARKDOWN
    )
    letter = models.TextField(blank=True, db_default="")
    # The author's plain text. If this field is empty, the plain text is made from the letter.
    text = models.TextField(blank=True, db_default="")

    # The address in the archive that the author chose; empty if the title gives the address.
    address = models.CharField(max_length=80, blank=True, default="", db_default="")

    revision = models.PositiveIntegerField(default=1, db_default=1)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    saved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    saved_at = models.DateTimeField(db_default=Now())

    # Who approved the draft, and the `approval_hash` of the draft at this time.
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    approved_hash = models.BinaryField(null=True)
    approved_at = models.DateTimeField(null=True)

    edition = models.OneToOneField(
        "delivery.Edition", on_delete=models.CASCADE, null=True, related_name="draft"
    )

    class Meta:
        db_table = "draft"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(name="one_draft_per_key", fields=["key"]),
            models.CheckConstraint(
                name="draft_format_is_known", condition=Q(format__in=["markdown", "html"])
            ),
            models.CheckConstraint(
                name="draft_goes_to_is_known",
                condition=Q(goes_to__in=["everyone", "reached", "unreached", "nobody"]),
            ),
            models.CheckConstraint(
                name="draft_archive_is_known",
                condition=Q(archive__in=["", "public", "unlisted", "none"]),
            ),
            models.CheckConstraint(name="revisions_count_from_one", condition=Q(revision__gte=1)),
            models.CheckConstraint(
                name="an_approval_says_what_was_approved",
                condition=Q(approved_by__isnull=True) | Q(approved_hash__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                name="draft_open_newest_first",
                fields=["-saved_at"],
                condition=Q(edition__isnull=True),
            )
        ]

    def __str__(self) -> str:
        return " ".join(self.title.split())[: TITLE.longest] or "Untitled"

    @property
    def fields(self) -> DraftFields:
        """The values of the draft as `DraftFields`."""
        values = {field.name: getattr(self, field.name) for field in fields(DraftFields)}
        tags = {name: tuple(values[name]) for name in ("with_tags", "without_tags")}
        if self.unlisted and self.archive in ("", Visibility.PUBLIC):
            # The previous release saved this draft, without the column `archive`.
            values["archive"] = Visibility.UNLISTED.value
        return DraftFields(**(values | tags))


class Receipt(models.Model):
    """The signed record of a sent edition, kept when the deliveries are deleted."""

    edition = models.OneToOneField(
        "delivery.Edition", on_delete=models.CASCADE, related_name="receipt"
    )
    text = models.TextField()  # the signed text: canonical JSON
    signature = models.TextField()
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "receipt"
        default_permissions = ()


class UploadedImage(models.Model):
    """An image, resized for mail. The image is kept as long as a letter uses it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    sha256 = models.BinaryField()
    name = models.CharField(max_length=200)
    content_type = models.CharField(max_length=20)
    width = models.PositiveIntegerField()  # pixels
    height = models.PositiveIntegerField()  # pixels
    content = models.BinaryField()
    # A WebP for lists and phones (`resize_image.py`).
    small_copy = models.BinaryField(default=b"")
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    uploaded_at = models.DateTimeField(db_default=Now())
    # The time since which no letter uses the image; null if a letter uses it, or before the first
    # check.
    unused_since = models.DateTimeField(null=True)

    class Meta:
        db_table = "uploaded_image"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(name="an_image_is_stored_once", fields=["sha256"]),
            models.CheckConstraint(
                name="image_type_is_shown_by_mail",
                condition=Q(
                    content_type__in=["image/png", "image/jpeg", "image/gif", "image/webp"]
                ),
            ),
            models.CheckConstraint(
                name="image_size_is_limited",
                condition=Q(
                    content__length__lte=LARGEST_IMAGE, small_copy__length__lte=LARGEST_IMAGE
                ),
            ),
        ]


class UploadAttempts(models.Model):
    """The upload attempts of an author in the hour since the first attempt."""

    author = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    since = models.DateTimeField()  # the time of the first attempt
    tries = models.PositiveIntegerField()  # attempts since then, also failed attempts

    class Meta:
        db_table = "upload_attempts"
        default_permissions = ()


class Snippet(models.Model):
    """A text, such as a signature, that an author can insert in the composer."""

    id = models.AutoField(primary_key=True)
    name = models.CharField(max_length=LONGEST_SNIPPET_NAME)
    text = models.TextField()  # Markdown

    class Meta:
        db_table = "snippet"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(Lower("name"), name="one_snippet_per_name"),
            models.CheckConstraint(name="a_snippet_has_a_name", condition=~Q(name="")),
        ]

    def __str__(self) -> str:
        return self.name


class ExternalCheck(models.Model):
    """The latest result of checking one subject, cached so that pages need not wait."""

    class Kind(models.TextChoices):
        """The kind of subject."""

        DOMAIN = "domain", "the records of a sender's domain"
        LINK = "link", "where a link in a letter leads"

    kind = ChoiceField(max_length=10, choices=Kind)
    subject = models.TextField()  # the domain or the address of the link
    found = models.JSONField()
    looked_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "external_check"
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                name="one_external_check_per_subject", fields=["kind", "subject"]
            ),
            models.CheckConstraint(
                name="external_check_kind_is_known", condition=Q(kind__in=["domain", "link"])
            ),
        ]


def _one_open(name: str) -> models.UniqueConstraint:
    """Return a constraint that allows only one open task in the model's table."""
    is_open = Q(state__in=["waiting", "running"])
    return models.UniqueConstraint(models.Value(1), name=name, condition=is_open)


class Export(LeasedTask):
    """A complete export that a worker writes. `done` is the number of bytes so far.

    The pieces of an export are deleted when it expires or when a newer export is finished.
    """

    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    pieces = models.PositiveIntegerField(default=0, db_default=0)
    now_writing = models.TextField(blank=True, default="", db_default="")  # a path in the ZIP file

    class Meta:
        db_table = "export"
        default_permissions = ()
        constraints = [
            *LeasedTask.Meta.constraints,
            # If an export is requested while another export is open, `request_export` returns the
            # open export.
            _one_open("one_export_at_a_time"),
        ]

    def __str__(self) -> str:
        return f"export {self.pk}"


class ExportPiece(FilePiece):
    """A piece of the ZIP file of an export."""

    pk = models.CompositePrimaryKey("export_id", "number")
    export = models.ForeignKey(Export, on_delete=models.CASCADE, db_index=False, related_name="+")

    class Meta:
        db_table = "export_piece"
        default_permissions = ()


class Rehearsal(LeasedTask):
    """A check of all messages of a draft, which sends no message.

    `done` is the number of messages checked so far. `report` has ids of readers and codes but no
    addresses, so erasing a reader need not change the report.
    """

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="rehearsals")
    fingerprint = models.BinaryField()  # a hash of content and audience
    started_at = models.DateTimeField(null=True)
    report = models.JSONField(default=dict, db_default={})  # from `RehearsalReport.as_json`

    class Meta:
        db_table = "rehearsal"
        default_permissions = ()
        constraints = [
            *LeasedTask.Meta.constraints,
            _one_open("one_rehearsal_at_a_time"),
        ]

    @property
    def refused(self) -> int:
        """The number of messages that would be refused."""
        return sum(number for _, number in self.report.get("refused", []))


class IssueMove(LeasedTask):
    """An uploaded export, for example of Substack, whose issues a worker moves in.

    `done` is the number of settled issues. `done` is saved in the same transaction as each issue.
    """

    # A move renews its lease only after each image, and fetching and resizing an image can take
    # long.
    SHORTEST_LEASE_S = 120.0

    filename = models.CharField(max_length=255)
    site = models.CharField(max_length=300, blank=True, default="", db_default="")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    product = models.CharField(max_length=12, blank=True, default="", db_default="")
    counts = models.JSONField(default=dict, db_default={})  # numbers of results by code
    notes = models.JSONField(default=list, db_default=[])  # code, title and detail of some issues

    class Meta:
        db_table = "issue_move"
        default_permissions = ()
        constraints = [
            *LeasedTask.Meta.constraints,
            _one_open("one_move_at_a_time"),
        ]

    def __str__(self) -> str:
        return self.filename

    def clear(self, end: str) -> None:
        IssueMovePiece.objects.filter(move=self).delete()


class IssueMovePiece(FilePiece):
    """A piece of the uploaded export. The piece is deleted when the move ends."""

    pk = models.CompositePrimaryKey("move_id", "number")
    move = models.ForeignKey(IssueMove, on_delete=models.CASCADE, db_index=False, related_name="+")

    class Meta:
        db_table = "issue_move_piece"
        default_permissions = ()


class MovedIssue(models.Model):
    """Remembers which issue was moved in, so that no export moves an issue in twice."""

    key = models.CharField(
        max_length=LONGEST_MOVED_KEY, primary_key=True
    )  # the product, and the issue's id in the product
    issue = models.ForeignKey(
        Issue, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )

    class Meta:
        db_table = "moved_issue"
        default_permissions = ()

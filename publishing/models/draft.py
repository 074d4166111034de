"""A draft of an issue."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from delivery.models import Edition
from idempotency.key import LONGEST_KEY, fresh_key
from publishing.content.edition_content import LONGEST_TITLE


class Draft(models.Model):
    """What an author writes; published once, under `key`. Every save counts up `revision`."""

    class Format(models.TextChoices):
        """How the letter is written."""

        MARKDOWN = "markdown", "Markdown"
        HTML = "html", "HTML"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    key = models.CharField(max_length=LONGEST_KEY, default=fresh_key)
    issue = models.ForeignKey(
        "publishing.Issue", on_delete=models.CASCADE, null=True, related_name="drafts"
    )
    goes_to = models.CharField(
        max_length=10,
        choices=Edition.GoesTo,
        default=Edition.GoesTo.EVERYONE,
        db_default=Edition.GoesTo.EVERYONE,
    )
    unlisted = models.BooleanField(default=False, db_default=False)

    title = models.TextField(blank=True, db_default="")
    preheader = models.TextField(blank=True, db_default="")
    format = models.CharField(
        max_length=10, choices=Format, default=Format.MARKDOWN, db_default=Format.MARKDOWN
    )
    letter = models.TextField(blank=True, db_default="")
    text = models.TextField(
        blank=True,
        db_default="",
        help_text="The text part in the author's own words; empty: it is made from the letter.",
    )

    revision = models.PositiveIntegerField(default=1, db_default=1)
    html_form_revision = models.PositiveIntegerField(
        null=True,
        help_text="The revision that the form for finished HTML saved last. It may save over that "
        "one, and over no other.",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    saved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now())
    saved_at = models.DateTimeField(db_default=Now())

    # The second person, and the hash of what they approved.
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
        return " ".join(self.title.split())[:LONGEST_TITLE] or "Untitled"

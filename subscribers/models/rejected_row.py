"""A row of an imported file that did not become a reader, and why."""

from django.db import models
from django.db.models import Q

from subscribers.models.checks import checks

# Enough to recognise the row; the file itself stays with its importer.
LONGEST_EXCERPT = 320


class RejectedRow(models.Model):
    """A row that is rejected as unreadable or not mailable, or skipped because its reader is gone.
    `reason` is a code of `refusal_sentences.py`, `parameters` are the values of its sentence."""

    class Result(models.TextChoices):
        """Which of the two."""

        REJECTED = "rejected"
        SKIPPED = "skipped"

    id = models.BigAutoField(primary_key=True)
    subscriber_import = models.ForeignKey(
        "subscribers.SubscriberImport",
        db_index=False,
        on_delete=models.CASCADE,
        related_name="rejected_rows",
    )
    line = models.PositiveIntegerField(help_text="Where the row starts in the file, from 1.")
    result = models.CharField(max_length=8, choices=Result)
    email = models.CharField(
        max_length=LONGEST_EXCERPT, blank=True, help_text="What stood there, cut when long."
    )
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

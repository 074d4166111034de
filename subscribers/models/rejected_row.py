"""A row of an imported file that was left out, and why."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

# What a report needs to show; the file itself stays with the person who imported it.
LONGEST_EXCERPT = 320


class LeftOutRow(models.Model):
    """
    A rejected row (it cannot be read, or its address cannot be mailed) or a skipped one (that
    person left, bounced or complained, and an import does not bring them back).
    """

    class Result(models.TextChoices):
        """Which of the two."""

        REJECTED = "rejected"
        SKIPPED = "skipped"

    id = models.BigAutoField(primary_key=True)
    subscriber_import = models.ForeignKey(
        "subscribers.SubscriberImport",
        db_index=False,
        on_delete=models.CASCADE,
        related_name="left_out_rows",
    )
    line = models.PositiveIntegerField(help_text="Where the row starts in the file, from 1.")
    result = models.CharField(max_length=8, choices=Result)
    email = models.CharField(
        max_length=LONGEST_EXCERPT, blank=True, help_text="What stood there, cut when long."
    )
    reason = models.TextField()

    class Meta:
        db_table = "left_out_row"
        constraints = [
            models.UniqueConstraint(
                name="a_row_is_left_out_once", fields=["subscriber_import", "line"]
            ),
            models.CheckConstraint(
                name="a_left_out_row_was_rejected_or_skipped",
                condition=Q(result__in=["rejected", "skipped"]),
            ),
        ]

    def __str__(self) -> str:
        return f"line {self.line}, {self.result}"

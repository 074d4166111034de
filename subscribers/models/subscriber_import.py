"""An import: one file of readers that was taken in, and what became of its rows."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now


class SubscriberImport(models.Model):
    """
    One file, known by the SHA-256 of its content and not by its name.

    With `confirmed` the importer states that these people gave their consent elsewhere; that
    statement is why they are mailed without having confirmed here, so it stays on record, and an
    import that brought readers cannot be deleted.
    """

    id = models.BigAutoField(primary_key=True)
    content_hash = models.BinaryField()
    filename = models.CharField(max_length=255)
    confirmed = models.BooleanField(help_text="Consent was given elsewhere, says the importer.")
    rows = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    known = models.PositiveIntegerField(default=0)
    duplicates = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "subscriber_import"
        verbose_name = "import"
        constraints = [
            models.UniqueConstraint(name="one_import_per_content", fields=["content_hash"]),
            models.CheckConstraint(
                name="the_rows_of_an_import_add_up",
                condition=Q(
                    rows=F("added") + F("known") + F("duplicates") + F("skipped") + F("rejected")
                ),
            ),
            models.CheckConstraint(
                name="an_import_does_not_end_before_it_starts",
                condition=Q(finished_at__isnull=True) | Q(finished_at__gte=F("started_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"import {self.pk} of {self.filename}"

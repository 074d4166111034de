"""An issue: one newsletter issue, of which editions are published."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models.functions import Now


class Issue(models.Model):
    """
    A title and the address of its page in the archive.

    What was published of it are its editions (`delivery.Edition`), which never change.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    title = models.CharField(max_length=500)
    slug = models.SlugField(max_length=80)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "issue"
        permissions = [("publish_edition", "Can publish editions to readers")]
        constraints = [
            models.UniqueConstraint(name="one_issue_per_archive_address", fields=["slug"])
        ]

    def __str__(self) -> str:
        return self.title

"""What an author posted while signed out."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from idempotency.key import LONGEST_KEY


class KeptForm(models.Model):
    """What an author posted while signed out, word for word, with the key it was posted under."""

    writer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    key = models.CharField(max_length=LONGEST_KEY)
    title = models.TextField()
    preheader = models.TextField(db_default="")
    html_content = models.TextField()
    text_content = models.TextField()
    # As they were posted, like the words; empty in the form of a new issue.
    issue = models.TextField(db_default="")
    version = models.TextField(db_default="")
    goes_to = models.TextField(db_default="")
    unlisted = models.TextField(db_default="")
    kept_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "kept_form"
        # Nobody but its writer ever sees one, so there is nothing to permit.
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(name="one_kept_form_per_key", fields=["writer", "key"])
        ]

    def __str__(self) -> str:
        return self.title

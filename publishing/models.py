"""An issue, of which editions are published, and the words that wait to be published."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from idempotency.key import LONGEST_KEY


class Issue(models.Model):
    """
    A title and the address of its page in the archive.

    What was published of it are its editions (`delivery.Edition`), which never change.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    title = models.CharField(max_length=500)
    slug = models.SlugField(max_length=80)
    created_at = models.DateTimeField(db_default=Now())
    # Its page is there for whoever has the address, and nothing leads to it.
    unlisted = models.BooleanField(default=False, db_default=False)
    # What was asked for when it was published: the key of that form stands for it, whatever it is
    # changed to later.
    published_unlisted = models.BooleanField(default=False, db_default=False)

    class Meta:
        db_table = "issue"
        permissions = [("publish_edition", "Can publish editions to readers")]
        constraints = [
            models.UniqueConstraint(name="one_issue_per_archive_address", fields=["slug"])
        ]

    def __str__(self) -> str:
        return self.title


class KeptForm(models.Model):
    """What an author posted while signed out, word for word, with the key it was posted under."""

    writer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    key = models.CharField(max_length=LONGEST_KEY)
    title = models.TextField()
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

"""An issue, whose editions are published."""

import uuid

from django.db import models
from django.db.models.functions import Now


class Issue(models.Model):
    """A title, and the address of its page in the archive."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    title = models.CharField(max_length=500)
    slug = models.SlugField(max_length=80)
    created_at = models.DateTimeField(db_default=Now())
    # Its page exists, but no list leads to it.
    unlisted = models.BooleanField(default=False, db_default=False)
    # What was asked for when it was published; a repeated post is compared with it.
    published_unlisted = models.BooleanField(default=False, db_default=False)

    class Meta:
        db_table = "issue"
        permissions = [
            ("write_draft", "Can write drafts, preview them and send tests of them"),
            ("publish_edition", "Can publish editions to readers"),
            ("operate_sending", "Can pause, resume and settle what is going out"),
        ]
        constraints = [
            models.UniqueConstraint(name="one_issue_per_archive_address", fields=["slug"])
        ]

    def __str__(self) -> str:
        return self.title

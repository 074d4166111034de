"""Create the table of issues, and add four issues that no author writes."""

import uuid
from django.db import migrations, models
from django.db.models.functions import Now


# The versions of these issues are mails on request or test letters. Each database has the same ids.
ISSUES = (
    (uuid.UUID("e93348ef-096e-4c6c-a194-8c9e51f5b825"), "Confirmation mail"),
    (uuid.UUID("5746c21d-e5f7-4e1a-a220-cf610df36c6d"), "Record mail"),
    (uuid.UUID("0d3cf5c3-3b0c-4f3e-9d64-6a1c6f0d3c52"), "Test letters"),
    (uuid.UUID("9a6f0f5e-5d8b-4a2c-8f53-3b1f6f0c7d24"), "Invitation"),
)


def add_issues(apps, schema_editor):
    """Add a row for each of these issues. They have no page in the archive."""
    for issue, title in ISSUES:
        slug = f"{title.lower().replace(' ', '-')}-{issue.hex[:8]}"
        apps.get_model("publishing", "Issue").objects.get_or_create(
            pk=issue, defaults={"title": title, "slug": slug}
        )


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Issue",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("title", models.CharField(max_length=500)),
                ("slug", models.SlugField(allow_unicode=True, max_length=80)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("unlisted", models.BooleanField(db_default=False, default=False)),
                ("published_unlisted", models.BooleanField(db_default=False, default=False)),
                (
                    "moved_from",
                    models.CharField(blank=True, db_default="", default="", max_length=12),
                ),
                ("has_page", models.BooleanField(db_default=True, default=True)),
                ("published_with_page", models.BooleanField(db_default=True, default=True)),
            ],
            options={
                "db_table": "issue",
                "permissions": [
                    ("write_draft", "Can write drafts, preview them and send tests of them"),
                    ("publish_edition", "Can publish editions to readers"),
                    ("operate_sending", "Can pause, resume and settle what is going out"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("slug",), name="one_issue_per_archive_address")
                ],
                "indexes": [],
            },
        ),
        migrations.RunPython(add_issues, migrations.RunPython.noop),
    ]

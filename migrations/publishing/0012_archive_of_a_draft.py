"""What a draft says about the archive and the note of a correction."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("publishing", "0011_issues_without_a_page")]

    operations = [
        migrations.AddField(
            "draft",
            "archive",
            models.CharField(blank=True, db_default="", default="", max_length=8),
        ),
        migrations.AddField(
            "draft", "without_note", models.BooleanField(db_default=False, default=False)
        ),
        AddConstraintNotValid(
            "draft",
            models.CheckConstraint(
                condition=models.Q(("archive__in", ["", "public", "unlisted", "none"])),
                name="draft_archive_is_known",
            ),
        ),
    ]

"""Issues that are not in the archive, and what a draft says about the archive."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("publishing", "0010_address_of_a_draft")]

    operations = [
        migrations.AddField(
            "issue", "has_page", models.BooleanField(db_default=True, default=True)
        ),
        migrations.AddField(
            "issue", "published_with_page", models.BooleanField(db_default=True, default=True)
        ),
        migrations.AddField(
            "draft",
            "archive",
            models.CharField(blank=True, db_default="", default="", max_length=8),
        ),
        migrations.AddField(
            "draft", "without_note", models.BooleanField(db_default=False, default=False)
        ),
        migrations.AddConstraint(
            "draft",
            models.CheckConstraint(
                condition=models.Q(("archive__in", ["", "public", "unlisted", "none"])),
                name="draft_archive_is_known",
            ),
        ),
    ]

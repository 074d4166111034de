"""Reword labels. The database does not change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("publishing", "0002_drafts_images_and_receipts"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="draft",
                    name="goes_to",
                    field=models.CharField(
                        choices=[
                            ("everyone", "everyone confirmed when it was published"),
                            ("reached", "confirmed readers who were sent an earlier version"),
                            (
                                "unreached",
                                "confirmed readers for whom no version is sent or unknown",
                            ),
                            ("nobody", "nobody: only the archive changes"),
                        ],
                        db_default="everyone",
                        default="everyone",
                        max_length=10,
                    ),
                ),
                migrations.AlterField(
                    model_name="draft",
                    name="html_form_revision",
                    field=models.PositiveIntegerField(
                        help_text="The last revision saved by the form for finished HTML, which may replace only it.",
                        null=True,
                    ),
                ),
                migrations.AlterField(
                    model_name="draft",
                    name="text",
                    field=models.TextField(
                        blank=True,
                        db_default="",
                        help_text="Plain text by the author; if empty, it is made from the letter.",
                    ),
                ),
                migrations.AlterField(
                    model_name="uploadattempts",
                    name="tries",
                    field=models.PositiveIntegerField(
                        help_text="Tries since then, including failed ones."
                    ),
                ),
                migrations.AlterField(
                    model_name="uploadedimage",
                    name="unused_since",
                    field=models.DateTimeField(
                        help_text="Since when no letter has used it; null if one does, or before the first check.",
                        null=True,
                    ),
                ),
            ]
        )
    ]

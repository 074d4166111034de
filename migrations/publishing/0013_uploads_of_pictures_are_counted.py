"""Uploads of pictures are counted for each author, failed ones included."""

from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("publishing", "0012_drafts_know_what_was_pasted"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="PictureTries",
            fields=[
                (
                    "author",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("since", models.DateTimeField(help_text="The first try of the hour.")),
                (
                    "tries",
                    models.PositiveIntegerField(
                        help_text="Tries since then, failed ones included."
                    ),
                ),
            ],
            options={"db_table": "picture_tries", "default_permissions": ()},
        )
    ]

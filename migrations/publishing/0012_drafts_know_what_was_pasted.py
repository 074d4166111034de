"""A draft knows which revision the form for finished HTML saved last."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("publishing", "0011_drafts_for_the_unreached_or_nobody")]

    operations = [
        migrations.AddField(
            model_name="draft",
            name="pasted_revision",
            field=models.PositiveIntegerField(
                help_text="The revision that the form for finished HTML saved last. It may save "
                "over that one, and over no other.",
                null=True,
            ),
        )
    ]

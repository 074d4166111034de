"""Of a picture it is known since when no letter shows it."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("publishing", "0008_a_receipt_never_changes")]

    operations = [
        migrations.AddField(
            model_name="picture",
            name="unused_since",
            field=models.DateTimeField(
                help_text="Since when it was found in no letter, at every look; null: in one, or "
                "not looked at.",
                null=True,
            ),
        )
    ]

"""A setting: the person who approves a letter may also publish it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0021_confirmed_readers_and_correction_notes")]

    operations = [
        migrations.AddField(
            "newsletter",
            "approver_may_publish",
            models.BooleanField(db_default=False, default=False),
        ),
    ]

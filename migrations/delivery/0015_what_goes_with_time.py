"""Calls are looked for by their age, since they go with time."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0014_test_letters_are_numbered")]

    operations = [
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(fields=["started_at", "id"], name="attempt_by_age"),
        ),
    ]

"""Calls are looked for by their age, since they go with time."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # There is a row for every call that was ever made.
    dependencies = [("delivery", "0014_test_letters_are_numbered")]

    operations = [
        AddIndexConcurrently(
            model_name="attempt",
            index=models.Index(fields=["started_at", "id"], name="attempt_by_age"),
        ),
    ]

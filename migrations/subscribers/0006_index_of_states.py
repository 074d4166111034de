"""The index for the lists of readers in one state, newest first."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("subscribers", "0005_reader_totals")]

    operations = [
        AddIndexConcurrently(
            "subscriber", models.Index(fields=["state", "id"], name="subscriber_by_state")
        )
    ]

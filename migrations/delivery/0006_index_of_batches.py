"""The index of the batches whose counts are not in a total."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("delivery", "0005_batch_totals")]

    operations = [
        AddIndexConcurrently(
            "batch",
            models.Index(
                condition=models.Q(("rolled_up", False)),
                fields=["edition", "state"],
                name="batch_not_rolled_up",
            ),
        )
    ]

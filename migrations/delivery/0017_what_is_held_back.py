"""Editions that somebody or something holds back are found by an index."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Beside those who write, which takes a transaction of its own for each step.
    atomic = False

    dependencies = [("delivery", "0016_tallies")]

    operations = [
        AddIndexConcurrently(
            model_name="edition",
            index=models.Index(
                condition=models.Q(("control__in", ["scheduled", "paused", "stopped"])),
                fields=["control"],
                name="edition_held_back",
            ),
        ),
    ]

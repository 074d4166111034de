"""
Batches in the hands of workers are found by their key.

By the end of the lease a call that starts or ends had to read all of them to find its own, where
the planner took them for fewer than a look at the whole key costs. They are as many as there are
calls at a time, so that whoever looks for a lease that is over may well read them all.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # Beside those who write.
    dependencies = [("delivery", "0022_what_is_not_over_is_found_by_its_words")]

    operations = [
        AddIndexConcurrently(
            model_name="batch",
            index=models.Index(
                condition=models.Q(("state__in", ["claimed", "sending", "looking_up"])),
                fields=["id"],
                name="batch_in_hand",
            ),
        ),
        RemoveIndexConcurrently(model_name="batch", name="batch_under_lease"),
    ]

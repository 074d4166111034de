"""A change that needs a short exclusive lock on the table that every claim reads."""

from django.db import migrations, models

from tests.faults.next_release.migrations import LAST_OF_TODAY


class Migration(migrations.Migration):
    dependencies = [("delivery", LAST_OF_TODAY)]

    operations = [migrations.AddField("batch", "colour", models.TextField(db_default=""))]

"""An index that is built while other sessions write."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("delivery", "later_1_a_column")]

    operations = [
        AddIndexConcurrently("delivery", models.Index(fields=["address"], name="by_address"))
    ]

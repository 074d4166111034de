"""What the migration before asks of new rows is asked of the old ones as well."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("delivery", "0018_copies_may_be_dropped")]

    operations = [
        ValidateConstraint(model_name="edition", name="copies_are_dropped_only_of_what_is_over")
    ]

"""Readers of before the wider rule are looked at, beside whoever writes."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0009_who_came_by_a_program")]

    operations = [ValidateConstraint("subscriber", "an_imported_subscriber_names_the_import")]

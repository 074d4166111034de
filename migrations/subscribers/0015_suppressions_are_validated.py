"""Validate the rule on the origins of suppressions for the rows that are there."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0014_an_import_suppresses_addresses")]

    operations = [ValidateConstraint("suppression", "suppression_origin_is_known")]

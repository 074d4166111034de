"""Validate the constraint of the previous migration for existing rows."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("delivery", "later_3_a_rule_for_what_comes")]

    operations = [ValidateConstraint("delivery", "a_delivery_has_an_address")]

"""Validate the rule of 0024 for the editions that are there."""

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("delivery", "0025_who_is_unreached_is_known")]

    operations = [ValidateConstraint(model_name="edition", name="edition_goes_to_is_known")]

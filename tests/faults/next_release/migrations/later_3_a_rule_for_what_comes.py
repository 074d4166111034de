"""A constraint that applies to new rows."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("delivery", "later_2_an_index_of_deliveries")]

    operations = [
        AddConstraintNotValid(
            "delivery",
            models.CheckConstraint(condition=~Q(address=""), name="a_delivery_has_an_address"),
        )
    ]

"""The sender that a test letter tries before it is used."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0011_own_look_and_sender"),
    ]

    operations = [
        migrations.AddField(
            model_name="edition",
            name="sender",
            field=models.CharField(blank=True, db_default="", default="", max_length=400),
        ),
        AddConstraintNotValid(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(("sender", ""), ("kind", "test"), _connector="OR"),
                name="only_a_test_letter_tries_a_sender",
            ),
        ),
    ]

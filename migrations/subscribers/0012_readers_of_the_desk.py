"""Readers whom an author adds on the desk."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q

NAME = "an_imported_subscriber_names_the_import"


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0011_undo_of_imports")]

    operations = [
        migrations.AlterField(
            "subscriber",
            "source",
            models.CharField(
                choices=[
                    ("import", "Import"),
                    ("sign-up", "Sign Up"),
                    ("api", "Api"),
                    ("desk", "Desk"),
                ],
                default="sign-up",
                max_length=10,
            ),
        ),
        migrations.RemoveConstraint("subscriber", NAME),
        AddConstraintNotValid(
            "subscriber",
            models.CheckConstraint(
                condition=Q(source="import", subscriber_import__isnull=False)
                | Q(source__in=["sign-up", "api", "desk"], subscriber_import__isnull=True),
                name=NAME,
            ),
        ),
    ]

"""Only a correction that is not mailed may have no note for readers."""

from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models

NAME = "only_a_correction_of_the_page_has_no_note"


class Migration(migrations.Migration):
    dependencies = [("delivery", "0022_approver_who_publishes")]

    operations = [
        AddConstraintNotValid(
            "edition",
            models.CheckConstraint(
                name=NAME,
                condition=models.Q(without_note=False) | models.Q(goes_to="nobody"),
            ),
        ),
        ValidateConstraint("edition", NAME),
    ]

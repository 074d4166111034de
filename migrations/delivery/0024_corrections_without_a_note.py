"""Only a correction that is not mailed may have no note for readers."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0023_writer_of_an_edition")]

    operations = [
        AddConstraintNotValid(
            "edition",
            models.CheckConstraint(
                name="only_a_correction_of_the_page_has_no_note",
                condition=models.Q(without_note=False) | models.Q(goes_to="nobody"),
            ),
        ),
    ]

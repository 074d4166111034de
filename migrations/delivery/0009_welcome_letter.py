"""Welcome letters: another kind of edition."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q

KINDS = (
    ("newsletter", "Newsletter"),
    ("confirmation", "asks a new reader to confirm"),
    ("record", "links to the data that is stored about an address"),
    ("welcome", "greets a reader after the opt-in"),
    ("test", "shows its author a letter before publication"),
)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0008_fields_of_a_copy")]

    operations = [
        migrations.AlterField(
            "edition",
            "kind",
            models.CharField(choices=KINDS, default="newsletter", max_length=20),
        ),
        migrations.RemoveConstraint("edition", "edition_kind_is_known"),
        # Rows that exist have the kinds of the old constraint.
        AddConstraintNotValid(
            "edition",
            models.CheckConstraint(
                condition=Q(kind__in=[kind for kind, _ in KINDS]), name="edition_kind_is_known"
            ),
        ),
    ]

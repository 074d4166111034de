"""An edition may also go to the readers whom no version has reached, or to nobody."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

GOES_TO = [
    ("everyone", "everyone confirmed when it was published"),
    ("reached", "of those, whoever was sent an earlier version"),
    ("unreached", "of those, readers for whom no version is sent or in doubt"),
    ("nobody", "nobody: only the archive changes"),
]


class Migration(migrations.Migration):
    dependencies = [("delivery", "0023_what_is_in_hand_is_found_by_its_key")]

    operations = [
        migrations.AlterField(
            model_name="edition",
            name="goes_to",
            field=models.CharField(
                choices=GOES_TO,
                db_default="everyone",
                default="everyone",
                help_text="Whom a version goes to; a first one goes to everyone or to nobody.",
                max_length=10,
            ),
        ),
        migrations.RemoveConstraint(model_name="edition", name="edition_goes_to_is_known"),
        AddConstraintNotValid(
            model_name="edition",
            constraint=models.CheckConstraint(
                name="edition_goes_to_is_known",
                condition=models.Q(goes_to__in=["everyone", "reached", "unreached", "nobody"]),
            ),
        ),
    ]

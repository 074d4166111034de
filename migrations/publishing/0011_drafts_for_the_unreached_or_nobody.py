"""
A draft may also go to the readers whom no version has reached, or to nobody.

The rule is not validated: every old draft kept the narrower one before it.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

GOES_TO = [
    ("everyone", "everyone confirmed when it was published"),
    ("reached", "of those, whoever was sent an earlier version"),
    ("unreached", "of those, readers for whom no version is sent or in doubt"),
    ("nobody", "nobody: only the archive changes"),
]


class Migration(migrations.Migration):
    dependencies = [("publishing", "0010_an_address_stays_once_a_copy_may_have_left")]

    operations = [
        migrations.AlterField(
            model_name="draft",
            name="goes_to",
            field=models.CharField(
                choices=GOES_TO, db_default="everyone", default="everyone", max_length=10
            ),
        ),
        migrations.RemoveConstraint(model_name="draft", name="draft_goes_to_is_known"),
        AddConstraintNotValid(
            model_name="draft",
            constraint=models.CheckConstraint(
                name="draft_goes_to_is_known",
                condition=models.Q(goes_to__in=["everyone", "reached", "unreached", "nobody"]),
            ),
        ),
    ]

"""An imported file may say that an address must not be mailed."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0013_an_import_remembers_who_left")]

    operations = [
        migrations.RemoveConstraint(
            model_name="suppression",
            name="suppression_origin_is_known",
        ),
        migrations.AlterField(
            model_name="suppression",
            name="origin",
            field=models.CharField(
                choices=[("provider", "Provider"), ("operator", "Operator"), ("import", "Import")],
                max_length=8,
            ),
        ),
        AddConstraintNotValid(
            model_name="suppression",
            constraint=models.CheckConstraint(
                condition=models.Q(("origin__in", ["provider", "operator", "import"])),
                name="suppression_origin_is_known",
            ),
        ),
    ]

"""A reader who was added through the API is said to have come so, and not by a sign-up."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0008_what_programs_say_is_looked_at")]

    operations = [
        migrations.RemoveConstraint(
            model_name="subscriber",
            name="an_imported_subscriber_names_the_import",
        ),
        migrations.AlterField(
            model_name="subscriber",
            name="source",
            field=models.CharField(
                choices=[("import", "Import"), ("sign-up", "Sign Up"), ("api", "Api")],
                default="sign-up",
                max_length=10,
            ),
        ),
        AddConstraintNotValid(
            model_name="subscriber",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("source", "import"), ("subscriber_import__isnull", False)),
                    models.Q(
                        ("source__in", ["sign-up", "api"]), ("subscriber_import__isnull", True)
                    ),
                    _connector="OR",
                ),
                name="an_imported_subscriber_names_the_import",
            ),
        ),
    ]

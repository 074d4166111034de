"""The address in the archive that an author chose, and addresses in any script."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("publishing", "0009_snippets")]

    operations = [
        migrations.AddField(
            "draft",
            "address",
            models.CharField(blank=True, db_default="", default="", max_length=80),
        ),
        # Changes nothing in the database.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    "issue", "slug", models.SlugField(allow_unicode=True, max_length=80)
                )
            ]
        ),
    ]

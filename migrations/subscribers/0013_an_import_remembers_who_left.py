"""Mark the addresses of an import whose row says that their reader is gone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0012_imports_keep_statuses_and_mapping")]

    operations = [
        migrations.AddField(
            model_name="importaddressseen",
            name="has_left",
            field=models.BooleanField(
                db_default=False, default=False, help_text="A row says that they are gone."
            ),
        ),
    ]

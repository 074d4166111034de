"""Tags of imports, and imported readers who get the welcome letter."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0014_deleted_fields_and_tags")]

    operations = [
        migrations.AddField(
            model_name="subscriberimport",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.IntegerField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="tags_in_file",
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="welcome",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]

"""The values of the author's fields that a copy uses."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0007_audience_of_an_edition")]

    operations = [
        migrations.AddField(
            model_name="delivery",
            name="fields",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), null=True, size=None
            ),
        ),
    ]

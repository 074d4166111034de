"""The fields and tags of a sign-up, which the confirmation makes the reader's own."""

import django.contrib.postgres.fields
from django.db import migrations, models

RULE = """
ALTER TABLE consent_record ADD CONSTRAINT the_fields_of_a_record_are_sound
    CHECK (fields = '{}' OR reader_fields_are_sound(fields)) NOT VALID;
"""


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0008_fields_and_tags")]

    operations = [
        migrations.AddField(
            model_name="consentrecord",
            name="fields",
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name="consentrecord",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.IntegerField(), db_default=[], default=list, size=None
            ),
        ),
        migrations.RunSQL(
            RULE, "ALTER TABLE consent_record DROP CONSTRAINT the_fields_of_a_record_are_sound"
        ),
    ]

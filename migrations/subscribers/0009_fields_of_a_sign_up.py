"""The fields and tags of a sign-up, and the acts of choosing topics, in the log of consent."""

import django.contrib.postgres.fields
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

RULE = """
ALTER TABLE consent_record ADD CONSTRAINT the_fields_of_a_record_are_sound
    CHECK (fields = '{}' OR reader_fields_are_sound(fields)) NOT VALID;
"""
ACTS = [
    ("asked", "asked for the letter"),
    ("confirmed", "confirmed by the reader"),
    ("imported", "came with an import"),
    ("left", "left"),
    ("bounced", "mail to the address bounced"),
    ("complained", "marked a letter as spam"),
    ("blocked", "was blocked"),
    ("record asked", "requested their data"),
    ("stated", "was added; consent was given elsewhere"),
    ("chose topics", "chose topics"),
    ("left topics", "left topics"),
]


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
        migrations.RemoveConstraint("consentrecord", "consent_act_is_known"),
        migrations.AlterField(
            model_name="consentrecord",
            name="act",
            field=models.CharField(choices=ACTS, max_length=12),
        ),
        AddConstraintNotValid(
            "consentrecord",
            models.CheckConstraint(
                condition=models.Q(act__in=[act for act, _ in ACTS]), name="consent_act_is_known"
            ),
        ),
    ]

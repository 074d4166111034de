"""Alarms about events of another address, and batches that crash workers."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q

KINDS = (
    ("accepted_twice", "the provider accepted a second copy"),
    ("marked_unsettled", "marked as sent without being settled"),
    ("not_at_provider", "recorded as sent, and the provider does not show it"),
    ("bounce_threshold", "too many bounces or complaints"),
    ("other_address", "an event names another address than its copy"),
    ("batch_crashing", "a batch crashes its workers"),
)


class Migration(migrations.Migration):
    dependencies = [("delivery", "0015_texts_without_addresses")]

    operations = [
        migrations.AlterField("alarm", "kind", models.CharField(choices=KINDS, max_length=20)),
        migrations.RemoveConstraint("alarm", "alarm_kind_is_known"),
        # Rows that exist have the kinds of the old constraint.
        AddConstraintNotValid(
            "alarm",
            models.CheckConstraint(
                condition=Q(kind__in=[kind for kind, _ in KINDS]), name="alarm_kind_is_known"
            ),
        ),
    ]

"""The pace remembers what was too fast, so that it knows when it has grown well past it."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0004_cancelled_stays_cancelled")]

    operations = [
        migrations.AddField(
            model_name="pace",
            name="too_fast_per_s",
            field=models.FloatField(null=True),
        ),
        migrations.RemoveConstraint(
            model_name="pace",
            name="a_slowed_pace_says_how_far_and_since_when",
        ),
        migrations.AddConstraint(
            model_name="pace",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("slowed_at__isnull", True),
                    ("slowed_to_per_s__isnull", True),
                    ("too_fast_per_s__isnull", True),
                )
                | models.Q(
                    ("slowed_at__isnull", False),
                    ("slowed_to_per_s__gt", 0),
                    ("too_fast_per_s__gt", models.F("slowed_to_per_s")),
                ),
                name="a_slowed_pace_says_how_far_and_since_when",
            ),
        ),
    ]

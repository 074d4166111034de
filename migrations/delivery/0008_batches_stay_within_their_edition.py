"""The ids of an edition's batches never run into those of the next edition."""

import django.db.models.expressions
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0007_events_that_cannot_be_applied"),
    ]

    operations = [
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "edition",
                        django.db.models.expressions.CombinedExpression(
                            models.F("id"), "/", models.Value(1048576)
                        ),
                    )
                ),
                name="a_batch_is_numbered_within_its_edition",
            ),
        ),
    ]

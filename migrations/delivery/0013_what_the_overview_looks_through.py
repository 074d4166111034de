"""Alarms are looked at by somebody, and what is not over is found by an index."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0012_what_the_desk_writes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="alarm",
            name="looked_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="alarm",
            name="looked_by",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddIndex(
            model_name="alarm",
            index=models.Index(
                condition=models.Q(("looked_at__isnull", True)),
                fields=["raised_at"],
                name="alarm_not_looked_at",
            ),
        ),
        migrations.AddIndex(
            model_name="batch",
            index=models.Index(
                condition=models.Q(
                    models.Q(("state", "done"), _negated=True), ("missed__gt", 0), _connector="OR"
                ),
                fields=["edition"],
                name="batch_not_over",
            ),
        ),
    ]

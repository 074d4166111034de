"""Let a worker answer requests for a record: the page costs the same for everyone."""

from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("subscribers", "0010_who_came_before_is_looked_at")]

    operations = [
        migrations.CreateModel(
            name="DataRequest",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "email_key",
                    models.CharField(
                        db_collation="C", help_text="The case-folded address.", max_length=254
                    ),
                ),
                ("network", models.CharField(blank=True, db_default="", max_length=43)),
                ("asked_at", models.DateTimeField(db_default=Now())),
                ("failures", models.PositiveSmallIntegerField(db_default=0)),
            ],
            options={
                "db_table": "data_request",
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["network", "asked_at"], name="data_request_asked_from")
                ],
            },
        ),
    ]

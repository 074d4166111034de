"""What all processes counted."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("delivery", "0015_what_goes_with_time")]

    operations = [
        migrations.CreateModel(
            name="Tally",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "name",
                        "labels",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                (
                    "labels",
                    models.CharField(
                        help_text="JSON, its names in order; {} for none.", max_length=300
                    ),
                ),
                ("value", models.FloatField(db_default=0, default=0)),
            ],
            options={"db_table": "tally", "verbose_name_plural": "tallies"},
        ),
    ]

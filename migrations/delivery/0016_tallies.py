"""What all processes counted, and an index of the editions that somebody or something holds back."""

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
        # Its few rows change every few seconds; with room beside them they stay where they are.
        migrations.RunSQL("ALTER TABLE tally SET (fillfactor = 40)", migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="edition",
            index=models.Index(
                condition=models.Q(("control__in", ["scheduled", "paused", "stopped"])),
                fields=["control"],
                name="edition_held_back",
            ),
        ),
    ]

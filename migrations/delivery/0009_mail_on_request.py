"""Mail on request: its kinds, and the sequence that numbers its batches."""

from __future__ import annotations

from django.db import migrations, models

# delivery/queue/batch_numbers.py: what the sequence gives, and what is left above it for splits.
# A number is free again once all others were given; whoever draws one that is taken draws on.
SEQUENCE = "CREATE SEQUENCE batch_on_request MINVALUE 0 MAXVALUE 983039 START 0 CYCLE"


class Migration(migrations.Migration):
    dependencies = [("delivery", "0008_batches_stay_within_their_edition")]

    operations = [
        migrations.RunSQL(SEQUENCE, "DROP SEQUENCE batch_on_request"),
        migrations.AlterField(
            model_name="edition",
            name="audience",
            field=models.PositiveIntegerField(
                default=0,
                help_text="Of mail on request 0 and not read: there the batches' sizes count.",
            ),
        ),
        migrations.AlterField(
            model_name="edition",
            name="kind",
            field=models.CharField(
                choices=[
                    ("newsletter", "Newsletter"),
                    ("confirmation", "asks who signed up whether it was them"),
                    ("record", "leads somebody to what is held about them"),
                ],
                default="newsletter",
                max_length=20,
            ),
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["newsletter", "confirmation", "record"])),
                name="edition_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind", "newsletter"),
                    models.Q(("control__in", ["cancelled", "closed"]), _negated=True),
                    _connector="OR",
                ),
                name="mail_on_request_never_ends",
            ),
        ),
    ]

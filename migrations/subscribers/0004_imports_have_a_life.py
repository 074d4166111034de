"""An import waits, runs in pieces and is gone on with by whoever is there."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

# Until now an import was all there or not there at all.
THEY_ENDED = """
    UPDATE subscriber_import SET state = 'finished', finished_at = coalesce(finished_at, started_at)
"""


def _of_an_import(related_name):
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.DO_NOTHING,
        related_name=related_name,
        to="subscribers.subscriberimport",
    )


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("subscribers", "0003_the_ratchet"),
    ]

    operations = [
        migrations.CreateModel(
            name="ImportAddressSeen",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "subscriber_import_id",
                        "email_key",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("subscriber_import", _of_an_import("+")),
                ("email_key", models.CharField(db_collation="C", max_length=254)),
                ("line", models.PositiveIntegerField(help_text="Where it stood first.")),
            ],
            options={"db_table": "import_address_seen", "default_permissions": ()},
        ),
        migrations.CreateModel(
            name="ImportPiece",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "subscriber_import_id",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("subscriber_import", _of_an_import("pieces")),
                ("number", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
            ],
            options={"db_table": "import_piece", "default_permissions": ()},
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="bytes_read",
            field=models.BigIntegerField(db_default=0, default=0, help_text="For its progress."),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="epoch",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="lease_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="owner",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="read_as",
            field=models.JSONField(help_text="How the file was understood.", null=True),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="refusal",
            field=models.TextField(
                blank=True, db_default="", default="", help_text="Why it was refused: one sentence."
            ),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="setbacks",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="How often it was taken up since it last came further.",
            ),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="size",
            field=models.BigIntegerField(db_default=0, default=0, help_text="Bytes of the file."),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="skipped_because",
            field=models.JSONField(
                default=dict, help_text="How many were skipped for which reason."
            ),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="state",
            field=models.CharField(
                choices=[
                    ("checking", "is being checked"),
                    ("checked", "checked, not imported"),
                    ("waiting", "waits for a worker"),
                    ("running", "is being imported"),
                    ("finished", "finished"),
                    ("refused", "refused"),
                ],
                db_default="waiting",
                default="waiting",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="subscriberimport",
            name="statement",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Where and how consent was given.",
                max_length=300,
            ),
        ),
        migrations.RunSQL(THEY_ENDED, migrations.RunSQL.noop),
        migrations.AddField(
            model_name="subscriberimport",
            name="imported_by",
            field=models.ForeignKey(
                db_index=False,
                help_text="Nobody for an import from the command line.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="subscriberimport",
            constraint=models.CheckConstraint(
                condition=Q(
                    (
                        "state__in",
                        ["checking", "checked", "waiting", "running", "finished", "refused"],
                    )
                ),
                name="import_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscriberimport",
            constraint=models.CheckConstraint(
                condition=Q(
                    Q(("finished_at__isnull", False), ("state__in", ["finished", "refused"])),
                    Q(
                        ("finished_at__isnull", True),
                        ("state__in", ["checking", "checked", "waiting", "running"]),
                    ),
                    _connector="OR",
                ),
                name="an_import_that_has_ended_says_when",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscriberimport",
            constraint=models.CheckConstraint(
                condition=Q(
                    Q(("state", "refused"), _negated=True),
                    Q(("refusal", ""), _negated=True),
                    _connector="OR",
                ),
                name="a_refused_import_says_why",
            ),
        ),
    ]

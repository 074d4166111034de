"""The life of an edition: alarms, events, the identity of the database, and a shared pace."""

import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0002_content_is_frozen_and_the_one_rows_are_there"),
        ("publishing", "0002_kept_forms"),
        ("subscribers", "0001_subscribers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Alarm",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("accepted_twice", "the provider accepted a second copy"),
                            ("marked_unsettled", "marked as sent without being settled"),
                            (
                                "not_at_provider",
                                "recorded as sent, and the provider does not show it",
                            ),
                        ],
                        max_length=20,
                    ),
                ),
                ("about", models.CharField(max_length=120)),
                ("sentence", models.TextField()),
                (
                    "raised_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "db_table": "alarm",
            },
        ),
        migrations.CreateModel(
            name="DatabaseIdentity",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                ("system_identifier", models.CharField(max_length=20)),
                ("timeline", models.CharField(max_length=8)),
                ("database", models.BigIntegerField(help_text="The oid of the database.")),
                (
                    "since",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "db_table": "database_identity",
            },
        ),
        migrations.CreateModel(
            name="ProviderEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "body_hash",
                    models.BinaryField(help_text="SHA-256 of the body; the event's key."),
                ),
                (
                    "kind",
                    models.CharField(
                        help_text="RecordType, cut; empty if it names none.", max_length=40
                    ),
                ),
                ("body", models.BinaryField(help_text="As it came, whatever it is.")),
                (
                    "received_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("applied_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "provider_event",
            },
        ),
        migrations.AddField(
            model_name="batch",
            name="blocked",
            field=models.PositiveSmallIntegerField(
                db_default=0, help_text="Calls in a row that something before the provider refused."
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="missed",
            field=models.BooleanField(
                help_text="Failed, but not refused: it may be sent to those who were missed.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="edition",
            name="goes_to",
            field=models.CharField(
                choices=[
                    ("everyone", "everyone confirmed when it was published"),
                    ("reached", "of those, whoever was sent an earlier version"),
                ],
                db_default="everyone",
                default="everyone",
                help_text="Whom a correction goes to; a first version goes to everyone.",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="edition",
            name="unreconciled_since",
            field=models.DateTimeField(
                help_text="The database was found restored: not resumed before it is reconciled.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="pace",
            name="slowed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="pace",
            name="slowed_to_per_s",
            field=models.FloatField(null=True),
        ),
        migrations.AddConstraint(
            model_name="delivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("missed__isnull", True),
                    models.Q(("missed", True), ("outcome", "failed")),
                    _connector="OR",
                ),
                name="only_a_failed_copy_was_missed",
            ),
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(("goes_to__in", ["everyone", "reached"])),
                name="edition_goes_to_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="edition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("unreconciled_since__isnull", True),
                    models.Q(("control", "running"), _negated=True),
                    _connector="OR",
                ),
                name="nothing_runs_before_it_is_reconciled",
            ),
        ),
        migrations.AddConstraint(
            model_name="pace",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("slowed_at__isnull", True), ("slowed_to_per_s__isnull", True)),
                    models.Q(("slowed_at__isnull", False), ("slowed_to_per_s__gt", 0)),
                    _connector="OR",
                ),
                name="a_slowed_pace_says_how_far_and_since_when",
            ),
        ),
        migrations.AddField(
            model_name="alarm",
            name="edition",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, to="delivery.edition"
            ),
        ),
        migrations.AddConstraint(
            model_name="databaseidentity",
            constraint=models.CheckConstraint(
                condition=models.Q(("id", 1)), name="there_is_one_identity"
            ),
        ),
        migrations.AddIndex(
            model_name="providerevent",
            index=models.Index(
                condition=models.Q(("applied_at__isnull", True)),
                fields=["id"],
                name="event_to_apply",
            ),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.UniqueConstraint(
                fields=("body_hash",), name="an_event_is_stored_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="alarm",
            constraint=models.UniqueConstraint(
                fields=("edition", "kind", "about"), name="an_alarm_is_raised_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="alarm",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["accepted_twice", "marked_unsettled", "not_at_provider"])
                ),
                name="alarm_kind_is_known",
            ),
        ),
    ]

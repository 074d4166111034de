"""What the provider tells of copies and addresses, and what it is asked to do about them."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0009_mail_on_request"),
    ]

    operations = [
        migrations.CreateModel(
            name="Errand",
            fields=[
                ("name", models.CharField(max_length=120, primary_key=True, serialize=False)),
                (
                    "due_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("owner", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("through_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "said",
                    models.TextField(
                        blank=True, db_default="", default="", help_text="Why it failed last."
                    ),
                ),
            ],
            options={
                "db_table": "errand",
            },
        ),
        migrations.CreateModel(
            name="ProviderSuppression",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("address_key", models.CharField(db_collation="C", max_length=254)),
                ("stream", models.CharField(max_length=100)),
                (
                    "refuses",
                    models.BooleanField(
                        help_text="False: it was lifted; the provider mails it again."
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=40)),
                ("origin", models.CharField(blank=True, max_length=40)),
                ("at", models.DateTimeField()),
            ],
            options={
                "db_table": "provider_suppression",
            },
        ),
        migrations.CreateModel(
            name="SuppressionChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("address", models.CharField(max_length=254)),
                ("address_key", models.CharField(db_collation="C", max_length=254)),
                ("stream", models.CharField(max_length=100)),
                (
                    "change",
                    models.CharField(
                        choices=[
                            ("suppress", "mail this address no more"),
                            ("reactivate", "mail this address again"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("done", "Done"),
                            ("refused", "the provider will not do it"),
                            ("superseded", "a later change of the same address took its place"),
                        ],
                        db_default="waiting",
                        default="waiting",
                        max_length=10,
                    ),
                ),
                (
                    "said",
                    models.TextField(
                        blank=True, db_default="", default="", help_text="Why the provider refused."
                    ),
                ),
                (
                    "asked_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("done_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "suppression_change",
            },
        ),
        migrations.RemoveConstraint(
            model_name="alarm",
            name="alarm_kind_is_known",
        ),
        migrations.AddField(
            model_name="batch",
            name="bounced",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Of its copies, those that came back."
            ),
        ),
        migrations.AddField(
            model_name="batch",
            name="complained",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Of its copies, those that were called spam."
            ),
        ),
        migrations.AddField(
            model_name="delivery",
            name="bounced_at",
            field=models.DateTimeField(help_text="It came back.", null=True),
        ),
        migrations.AddField(
            model_name="delivery",
            name="complained_at",
            field=models.DateTimeField(help_text="It was called spam.", null=True),
        ),
        migrations.AddField(
            model_name="delivery",
            name="delivered_at",
            field=models.DateTimeField(help_text="The receiving server took it.", null=True),
        ),
        migrations.AddField(
            model_name="edition",
            name="watched_bounced",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="edition",
            name="watched_complained",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="edition",
            name="watched_left",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="providerevent",
            name="address_key",
            field=models.CharField(
                blank=True,
                db_collation="C",
                db_default="",
                help_text="Whom it is about, so that it can be shown to them, and erased.",
                max_length=254,
            ),
        ),
        migrations.AddField(
            model_name="providerevent",
            name="trace",
            field=models.CharField(
                help_text="X-PM-Webhook-Trace-Id; null where none came.", max_length=100, null=True
            ),
        ),
        migrations.AlterField(
            model_name="alarm",
            name="kind",
            field=models.CharField(
                choices=[
                    ("accepted_twice", "the provider accepted a second copy"),
                    ("marked_unsettled", "marked as sent without being settled"),
                    ("not_at_provider", "recorded as sent, and the provider does not show it"),
                    ("surge", "too many bounces or complaints"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="edition",
            name="control",
            field=models.CharField(
                choices=[
                    ("running", "Running"),
                    ("paused", "paused by a person, or by a surge of bounces or complaints"),
                    ("stopped", "stopped by a fault of the account or the content"),
                    ("cancelled", "Cancelled"),
                    ("closed", "closed by a person who accepted what is left"),
                ],
                default="running",
                max_length=20,
            ),
        ),
        migrations.AddIndex(
            model_name="providerevent",
            index=models.Index(
                condition=models.Q(("address_key", ""), _negated=True),
                fields=["address_key"],
                name="event_about",
            ),
        ),
        migrations.AddConstraint(
            model_name="alarm",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind__in", ["accepted_twice", "marked_unsettled", "not_at_provider", "surge"])
                ),
                name="alarm_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="providerevent",
            constraint=models.UniqueConstraint(
                condition=models.Q(("trace__isnull", False)),
                fields=("trace",),
                name="an_event_has_one_trace",
            ),
        ),
        migrations.AddConstraint(
            model_name="errand",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("lease_until__isnull", True), ("owner__isnull", True)),
                    models.Q(
                        ("lease_until__isnull", False),
                        ("owner__isnull", False),
                        ("started_at__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="an_errand_is_held_with_a_lease",
            ),
        ),
        migrations.AddConstraint(
            model_name="providersuppression",
            constraint=models.UniqueConstraint(
                fields=("address_key", "stream"), name="one_word_of_the_provider_per_address"
            ),
        ),
        migrations.AddIndex(
            model_name="suppressionchange",
            index=models.Index(fields=["address_key", "id"], name="suppression_change_of"),
        ),
        migrations.AddIndex(
            model_name="suppressionchange",
            index=models.Index(
                condition=models.Q(("state", "waiting")),
                fields=["id"],
                name="suppression_change_to_send",
            ),
        ),
        migrations.AddConstraint(
            model_name="suppressionchange",
            constraint=models.CheckConstraint(
                condition=models.Q(("change__in", ["suppress", "reactivate"])),
                name="suppression_change_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="suppressionchange",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["waiting", "done", "refused", "superseded"])),
                name="suppression_change_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="suppressionchange",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "refused"), _negated=True),
                    models.Q(("said", ""), _negated=True),
                    _connector="OR",
                ),
                name="a_refused_change_says_why",
            ),
        ),
    ]

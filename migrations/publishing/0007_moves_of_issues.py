"""Exports of other products, and which issues came from them."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("publishing", "0006_moved_in_issues"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="IssueMove",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("finished", "Finished"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("filename", models.CharField(max_length=255)),
                ("site", models.CharField(blank=True, db_default="", default="", max_length=300)),
                (
                    "requested_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                ("product", models.CharField(blank=True, db_default="", default="", max_length=12)),
                ("refusal", models.JSONField(null=True)),
                ("total", models.PositiveIntegerField(db_default=0, default=0)),
                ("done", models.PositiveIntegerField(db_default=0, default=0)),
                ("counts", models.JSONField(db_default={}, default=dict)),
                ("notes", models.JSONField(db_default=[], default=list)),
                ("owner", models.UUIDField(null=True)),
                ("epoch", models.PositiveIntegerField(db_default=0, default=0)),
                ("stalled", models.PositiveIntegerField(db_default=0, default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "issue_move",
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="IssueMovePiece",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "move_id",
                        "number",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                (
                    "move",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="publishing.issuemove",
                    ),
                ),
            ],
            options={
                "db_table": "issue_move_piece",
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="MovedIssue",
            fields=[
                ("key", models.CharField(max_length=120, primary_key=True, serialize=False)),
                (
                    "issue",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="publishing.issue",
                    ),
                ),
            ],
            options={"db_table": "moved_issue", "default_permissions": ()},
        ),
        migrations.AddConstraint(
            model_name="issuemove",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ["waiting", "running", "finished", "refused", "failed"])
                ),
                name="move_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="issuemove",
            constraint=models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(("state__in", ["waiting", "running"])),
                name="one_move_at_a_time",
            ),
        ),
    ]

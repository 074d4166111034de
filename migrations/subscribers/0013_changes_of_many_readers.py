"""Changes of many readers, which a worker makes chunk by chunk."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("subscribers", "0012_readers_of_the_desk"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ReaderChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("key", models.UUIDField(unique=True)),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("tag", "Tag"),
                            ("untag", "Untag"),
                            ("unsubscribe", "Unsubscribe"),
                            ("shut-out", "Block"),
                            ("erase", "Erase"),
                        ],
                        max_length=12,
                    ),
                ),
                ("tag_id", models.IntegerField(null=True)),
                ("tag_name", models.CharField(blank=True, db_default="", max_length=60)),
                (
                    "readers",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), size=None
                    ),
                ),
                ("total", models.PositiveIntegerField()),
                ("done", models.PositiveIntegerField(db_default=0)),
                ("changed", models.PositiveIntegerField(db_default=0)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "stopped",
                    models.CharField(
                        blank=True,
                        choices=[("author", "By Author"), ("error", "By Error")],
                        db_default="",
                        max_length=6,
                    ),
                ),
                ("failures", models.PositiveSmallIntegerField(db_default=0)),
                (
                    "made_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "reader_change",
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("action__in", ["tag", "untag"]), ("tag_id__isnull", False)),
                            models.Q(
                                ("action__in", ["unsubscribe", "shut-out", "erase"]),
                                ("tag_id__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="a_change_of_tags_names_the_tag",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("changed__lte", models.F("done")), ("done__lte", models.F("total"))
                        ),
                        name="a_change_handles_each_reader_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("done__lt", models.F("total")),
                                ("finished_at__isnull", True),
                                ("stopped", ""),
                            ),
                            models.Q(
                                ("done", models.F("total")),
                                ("finished_at__isnull", False),
                                ("stopped", ""),
                            ),
                            models.Q(
                                ("finished_at__isnull", False),
                                ("stopped__in", ["author", "error"]),
                            ),
                            _connector="OR",
                        ),
                        name="a_finished_change_handled_all_readers",
                    ),
                ],
            },
        ),
    ]

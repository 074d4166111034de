"""Create the tables of drafts, images, receipts, checks and authors' tasks."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
import idempotency.key
import uuid
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0001_editions_and_deliveries"),
        ("newsletter_site", "__first__"),
        ("publishing", "0001_issue"),
    ]

    operations = [
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("key", models.CharField(default=idempotency.key.fresh_key, max_length=49)),
                (
                    "goes_to",
                    models.CharField(db_default="everyone", default="everyone", max_length=10),
                ),
                ("unlisted", models.BooleanField(db_default=False, default=False)),
                ("title", models.TextField(blank=True, db_default="")),
                ("preview_text", models.TextField(blank=True, db_default="")),
                (
                    "format",
                    models.CharField(db_default="markdown", default="markdown", max_length=10),
                ),
                ("letter", models.TextField(blank=True, db_default="")),
                ("text", models.TextField(blank=True, db_default="")),
                ("revision", models.PositiveIntegerField(db_default=1, default=1)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("saved_at", models.DateTimeField(db_default=Now())),
                ("approved_hash", models.BinaryField(null=True)),
                ("approved_at", models.DateTimeField(null=True)),
                (
                    "approved_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "edition",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="draft",
                        to="delivery.edition",
                    ),
                ),
                (
                    "issue",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drafts",
                        to="publishing.issue",
                    ),
                ),
                (
                    "saved_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "with_tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), db_default=[], default=list, size=None
                    ),
                ),
                (
                    "without_tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), db_default=[], default=list, size=None
                    ),
                ),
                ("address", models.CharField(blank=True, db_default="", default="", max_length=80)),
                ("archive", models.CharField(blank=True, db_default="", default="", max_length=8)),
                ("without_note", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "db_table": "draft",
                "default_permissions": (),
                "indexes": [
                    models.Index(
                        condition=models.Q(("edition__isnull", True)),
                        fields=["-saved_at"],
                        name="draft_open_newest_first",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("key",), name="one_draft_per_key"),
                    models.CheckConstraint(
                        condition=models.Q(("format__in", ["markdown", "html"])),
                        name="draft_format_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("goes_to__in", ["everyone", "reached", "unreached", "nobody"])
                        ),
                        name="draft_goes_to_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("revision__gte", 1)), name="revisions_count_from_one"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("approved_by__isnull", True),
                            ("approved_hash__isnull", False),
                            _connector="OR",
                        ),
                        name="an_approval_says_what_was_approved",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("archive__in", ["", "public", "unlisted", "none"])),
                        name="draft_archive_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UploadedImage",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("sha256", models.BinaryField()),
                ("name", models.CharField(max_length=200)),
                ("content_type", models.CharField(max_length=20)),
                ("width", models.PositiveIntegerField()),
                ("height", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                ("small_copy", models.BinaryField(default=b"")),
                ("uploaded_at", models.DateTimeField(db_default=Now())),
                (
                    "uploaded_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("unused_since", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "uploaded_image",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("sha256",), name="an_image_is_stored_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "content_type__in",
                                ["image/png", "image/jpeg", "image/gif", "image/webp"],
                            )
                        ),
                        name="image_type_is_shown_by_mail",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("content__length__lte", 2097152), ("small_copy__length__lte", 2097152)
                        ),
                        name="image_size_is_limited",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="UploadAttempts",
            fields=[
                (
                    "author",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("since", models.DateTimeField()),
                ("tries", models.PositiveIntegerField()),
            ],
            options={
                "db_table": "upload_attempts",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="ExternalCheck",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=10)),
                ("subject", models.TextField()),
                ("found", models.JSONField()),
                ("looked_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "external_check",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "subject"), name="one_external_check_per_subject"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["domain", "link"])),
                        name="external_check_kind_is_known",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Receipt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.TextField()),
                ("signature", models.TextField()),
                ("made_at", models.DateTimeField(db_default=Now())),
                (
                    "edition",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="receipt",
                        to="delivery.edition",
                    ),
                ),
            ],
            options={
                "db_table": "receipt",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Export",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("state", models.CharField(db_default="waiting", default="waiting", max_length=9)),
                ("requested_at", models.DateTimeField(db_default=Now())),
                ("finished_at", models.DateTimeField(null=True)),
                ("done", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("total", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("error", models.JSONField(null=True)),
                ("owner", models.UUIDField(null=True)),
                ("epoch", models.BigIntegerField(db_default=0, default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("claims", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("pieces", models.PositiveIntegerField(db_default=0, default=0)),
                ("now_writing", models.TextField(blank=True, db_default="", default="")),
            ],
            options={
                "db_table": "export",
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "waiting",
                                    "running",
                                    "finished",
                                    "refused",
                                    "cancelled",
                                    "failed",
                                    "expired",
                                ],
                            )
                        ),
                        name="export_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at", None), ("state__in", ["waiting", "running"])),
                            models.Q(
                                models.Q(("state__in", ["waiting", "running"]), _negated=True),
                                ("finished_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="export_that_ended_says_when",
                    ),
                    models.UniqueConstraint(
                        models.Value(1),
                        condition=models.Q(("state__in", ["waiting", "running"])),
                        name="one_export_at_a_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ExportPiece",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "export_id",
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
                    "export",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="publishing.export",
                    ),
                ),
            ],
            options={
                "db_table": "export_piece",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="IssueMove",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("state", models.CharField(db_default="waiting", default="waiting", max_length=9)),
                ("requested_at", models.DateTimeField(db_default=Now())),
                ("finished_at", models.DateTimeField(null=True)),
                ("done", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("total", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("error", models.JSONField(null=True)),
                ("owner", models.UUIDField(null=True)),
                ("epoch", models.BigIntegerField(db_default=0, default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("claims", models.PositiveIntegerField(db_default=0, default=0)),
                ("filename", models.CharField(max_length=255)),
                ("site", models.CharField(blank=True, db_default="", default="", max_length=300)),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("product", models.CharField(blank=True, db_default="", default="", max_length=12)),
                ("counts", models.JSONField(db_default={}, default=dict)),
                ("notes", models.JSONField(db_default=[], default=list)),
            ],
            options={
                "db_table": "issue_move",
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "waiting",
                                    "running",
                                    "finished",
                                    "refused",
                                    "cancelled",
                                    "failed",
                                    "expired",
                                ],
                            )
                        ),
                        name="issuemove_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at", None), ("state__in", ["waiting", "running"])),
                            models.Q(
                                models.Q(("state__in", ["waiting", "running"]), _negated=True),
                                ("finished_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="issuemove_that_ended_says_when",
                    ),
                    models.UniqueConstraint(
                        models.Value(1),
                        condition=models.Q(("state__in", ["waiting", "running"])),
                        name="one_move_at_a_time",
                    ),
                ],
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
                "indexes": [],
                "constraints": [],
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
            options={
                "db_table": "moved_issue",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="Rehearsal",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("state", models.CharField(db_default="waiting", default="waiting", max_length=9)),
                ("requested_at", models.DateTimeField(db_default=Now())),
                ("finished_at", models.DateTimeField(null=True)),
                ("done", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("total", models.PositiveBigIntegerField(db_default=0, default=0)),
                ("error", models.JSONField(null=True)),
                ("owner", models.UUIDField(null=True)),
                ("epoch", models.BigIntegerField(db_default=0, default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("claims", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "draft",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rehearsals",
                        to="publishing.draft",
                    ),
                ),
                ("fingerprint", models.BinaryField()),
                ("started_at", models.DateTimeField(null=True)),
                ("report", models.JSONField(db_default={}, default=dict)),
            ],
            options={
                "db_table": "rehearsal",
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "waiting",
                                    "running",
                                    "finished",
                                    "refused",
                                    "cancelled",
                                    "failed",
                                    "expired",
                                ],
                            )
                        ),
                        name="rehearsal_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at", None), ("state__in", ["waiting", "running"])),
                            models.Q(
                                models.Q(("state__in", ["waiting", "running"]), _negated=True),
                                ("finished_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="rehearsal_that_ended_says_when",
                    ),
                    models.UniqueConstraint(
                        models.Value(1),
                        condition=models.Q(("state__in", ["waiting", "running"])),
                        name="one_rehearsal_at_a_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Snippet",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("text", models.TextField()),
            ],
            options={
                "db_table": "snippet",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("name"), name="one_snippet_per_name"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="a_snippet_has_a_name"
                    ),
                ],
                "indexes": [],
            },
        ),
    ]

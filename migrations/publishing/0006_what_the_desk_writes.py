"""Drafts, pictures, receipts, looks at what is outside; and who may write, publish and operate."""

import django.db.models.deletion
import django.db.models.functions.datetime
import idempotency.key
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0012_what_the_desk_writes"),
        ("publishing", "0005_issues_of_mail_on_request"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="issue",
            options={
                "permissions": [
                    ("write_draft", "Can write drafts, preview them and send tests of them"),
                    ("publish_edition", "Can publish editions to readers"),
                    ("operate_sending", "Can pause, resume and settle what is going out"),
                ]
            },
        ),
        migrations.AddField(
            model_name="keptform",
            name="preheader",
            field=models.TextField(db_default=""),
        ),
        migrations.CreateModel(
            name="OutsideLook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("domain", "the records of a sender's domain"),
                            ("link", "where a link in a letter leads"),
                        ],
                        max_length=10,
                    ),
                ),
                ("subject", models.TextField(help_text="The domain or the address.")),
                ("found", models.JSONField()),
                (
                    "looked_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "db_table": "outside_look",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "subject"), name="one_look_is_kept_of_each_subject"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["domain", "link"])),
                        name="outside_look_kind_is_known",
                    ),
                ],
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
                ("text", models.TextField(help_text="Canonical JSON, as it was signed.")),
                ("signature", models.TextField()),
                (
                    "made_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
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
            },
        ),
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
                    models.CharField(
                        choices=[
                            ("everyone", "everyone confirmed when it was published"),
                            ("reached", "of those, whoever was sent an earlier version"),
                        ],
                        db_default="everyone",
                        default="everyone",
                        max_length=10,
                    ),
                ),
                ("unlisted", models.BooleanField(db_default=False, default=False)),
                ("title", models.TextField(blank=True, db_default="")),
                ("preheader", models.TextField(blank=True, db_default="")),
                (
                    "format",
                    models.CharField(
                        choices=[("markdown", "Markdown"), ("html", "HTML")],
                        db_default="markdown",
                        default="markdown",
                        max_length=10,
                    ),
                ),
                ("letter", models.TextField(blank=True, db_default="")),
                (
                    "text",
                    models.TextField(
                        blank=True,
                        db_default="",
                        help_text="The text part in the author's own words; empty: it is made from the letter.",
                    ),
                ),
                ("revision", models.PositiveIntegerField(db_default=1, default=1)),
                (
                    "begun_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "saved_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
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
                    "begun_by",
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
                        condition=models.Q(("goes_to__in", ["everyone", "reached"])),
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
                ],
            },
        ),
        migrations.CreateModel(
            name="Picture",
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
                ("width", models.PositiveIntegerField(help_text="Pixels.")),
                ("height", models.PositiveIntegerField(help_text="Pixels.")),
                ("content", models.BinaryField()),
                (
                    "uploaded_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "uploaded_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "picture",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("sha256",), name="a_picture_is_kept_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "content_type__in",
                                ["image/png", "image/jpeg", "image/gif", "image/webp"],
                            )
                        ),
                        name="a_picture_is_of_a_kind_that_mail_shows",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("content__length__lte", 2097152)),
                        name="a_picture_is_bounded",
                    ),
                ],
            },
        ),
    ]

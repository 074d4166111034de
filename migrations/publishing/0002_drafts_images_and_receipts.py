"""Drafts, images, receipts and checks of links and domains; rules about editions."""

import idempotency.key
import uuid
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


RECEIPT = """
CREATE FUNCTION a_receipt_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the receipt of edition % never changes', OLD.edition_id
        USING ERRCODE = 'integrity_constraint_violation',
              HINT = 'What became of an edition later stands in its counts.';
END $$;
CREATE TRIGGER a_receipt_never_changes
    BEFORE UPDATE OR DELETE ON receipt FOR EACH ROW EXECUTE FUNCTION a_receipt_never_changes();
"""

# Mails link to the address once a copy may have left. It is free while every edition of the
# issue was called back, or cancelled before its first call.
ADDRESS = """
CREATE FUNCTION the_address_is_fixed(issue uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM edition
        WHERE edition.issue_id = issue
          AND (edition.control <> 'cancelled'
               OR EXISTS (SELECT FROM batch WHERE batch.edition_id = edition.id
                             AND batch.sent + batch.unknown + batch.waiting > 0)
               OR EXISTS (SELECT FROM attempt WHERE attempt.edition_id = edition.id)))
$$;
CREATE FUNCTION the_address_of_an_issue_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF the_address_is_fixed(OLD.id) THEN
        RAISE EXCEPTION 'issue % stays at its address %: mails lead to it', OLD.id, OLD.slug
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'the_address_of_an_issue_stays';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER the_address_of_an_issue_stays
    BEFORE UPDATE OF slug ON issue FOR EACH ROW
    WHEN (OLD.slug IS DISTINCT FROM NEW.slug)
    EXECUTE FUNCTION the_address_of_an_issue_stays();
"""

# Otherwise the draft stays open, and a colleague can publish the same letter again.
KEY = """
CREATE FUNCTION the_key_of_a_draft_makes_one_edition() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    used text;
BEGIN
    IF TG_TABLE_NAME = 'draft' THEN
        used := NEW.key;
    ELSE
        used := NEW.idempotency_key;
    END IF;
    IF EXISTS (
        SELECT FROM draft
          JOIN edition ON edition.author_id = draft.created_by_id
                      AND edition.idempotency_key = draft.key
         WHERE draft.key = used AND draft.edition_id IS DISTINCT FROM edition.id
    ) THEN
        RAISE EXCEPTION 'the key % of a draft makes one edition, linked to the draft', used
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'the_key_of_a_draft_makes_one_edition';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER the_key_of_a_draft_makes_one_edition
    AFTER INSERT ON draft DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION the_key_of_a_draft_makes_one_edition();
CREATE CONSTRAINT TRIGGER the_key_of_a_draft_makes_one_edition
    AFTER INSERT ON edition DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.idempotency_key IS NOT NULL)
    EXECUTE FUNCTION the_key_of_a_draft_makes_one_edition();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("delivery", "0001_editions_batches_and_deliveries"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("publishing", "0001_issues"),
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
                    models.CharField(
                        choices=[
                            ("everyone", "everyone confirmed when it was published"),
                            ("reached", "of those, whoever was sent an earlier version"),
                            (
                                "unreached",
                                "of those, readers for whom no version is sent or in doubt",
                            ),
                            ("nobody", "nobody: only the archive changes"),
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
                    "created_at",
                    models.DateTimeField(db_default=Now()),
                ),
                (
                    "saved_at",
                    models.DateTimeField(db_default=Now()),
                ),
                ("approved_hash", models.BinaryField(null=True)),
                ("approved_at", models.DateTimeField(null=True)),
                (
                    "approved_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "edition",
                    models.OneToOneField(
                        null=True,
                        on_delete=models.CASCADE,
                        related_name="draft",
                        to="delivery.edition",
                    ),
                ),
                (
                    "issue",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.CASCADE,
                        related_name="drafts",
                        to="publishing.issue",
                    ),
                ),
                (
                    "saved_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "html_form_revision",
                    models.PositiveIntegerField(
                        help_text="The revision that the form for finished HTML saved last. It may save over that one, and over no other.",
                        null=True,
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
                ("width", models.PositiveIntegerField(help_text="Pixels.")),
                ("height", models.PositiveIntegerField(help_text="Pixels.")),
                ("content", models.BinaryField()),
                (
                    "uploaded_at",
                    models.DateTimeField(db_default=Now()),
                ),
                (
                    "uploaded_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "unused_since",
                    models.DateTimeField(
                        help_text="Since when it was found in no letter, at every look; null: in one, or not looked at.",
                        null=True,
                    ),
                ),
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
                        condition=models.Q(("content__length__lte", 2097152)),
                        name="image_size_is_limited",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UploadAttempts",
            fields=[
                (
                    "author",
                    models.OneToOneField(
                        on_delete=models.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("since", models.DateTimeField(help_text="The first try of the hour.")),
                (
                    "tries",
                    models.PositiveIntegerField(
                        help_text="Tries since then, failed ones included."
                    ),
                ),
            ],
            options={
                "db_table": "upload_attempts",
                "default_permissions": (),
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
                    models.DateTimeField(db_default=Now()),
                ),
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
                    models.DateTimeField(db_default=Now()),
                ),
                (
                    "edition",
                    models.OneToOneField(
                        on_delete=models.CASCADE,
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
        *map(migrations.RunSQL, (RECEIPT, ADDRESS, KEY)),
    ]

"""Create the tables of readers, consent, suppressions and imports."""

import django.contrib.postgres.fields
import django.db.models.constraints
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    initial = True

    dependencies = [("newsletter_site", "__first__")]

    operations = [
        migrations.CreateModel(
            name="SubscriberImport",
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
                ("content_hash", models.BinaryField()),
                ("filename", models.CharField(max_length=255)),
                ("confirmed", models.BooleanField()),
                (
                    "statement",
                    models.CharField(blank=True, db_default="", default="", max_length=300),
                ),
                ("list_is_confirmed", models.BooleanField(db_default=False, default=False)),
                (
                    "imported_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), db_default=[], default=list, size=None
                    ),
                ),
                ("welcome", models.BooleanField(db_default=False, default=False)),
                ("rows", models.PositiveIntegerField(default=0)),
                ("added", models.PositiveIntegerField(default=0)),
                ("known", models.PositiveIntegerField(default=0)),
                ("duplicates", models.PositiveIntegerField(default=0)),
                ("skipped", models.PositiveIntegerField(default=0)),
                ("rejected", models.PositiveIntegerField(default=0)),
                ("skipped_because", models.JSONField(default=dict)),
                ("statuses", models.JSONField(db_default={}, default=dict)),
                ("tags_in_file", models.JSONField(db_default={}, default=dict)),
                ("tag_values", models.JSONField(db_default={}, default=dict)),
                ("mapping", models.JSONField(db_default=[], default=list)),
                ("read_as", models.JSONField(null=True)),
                ("made", models.JSONField(db_default={}, default=dict)),
                ("upload", models.UUIDField(null=True)),
                ("checked_at", models.DateTimeField(null=True)),
                ("undone", models.PositiveIntegerField(db_default=0, default=0)),
                ("kept_mailed", models.PositiveIntegerField(db_default=0, default=0)),
                ("kept_opted_in", models.PositiveIntegerField(db_default=0, default=0)),
                ("kept_changed", models.PositiveIntegerField(db_default=0, default=0)),
                ("undo_checkpoint", models.BigIntegerField(db_default=0, default=0)),
                ("undone_at", models.DateTimeField(null=True)),
                ("unmade", models.JSONField(null=True)),
            ],
            options={
                "verbose_name": "import",
                "db_table": "subscriber_import",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["expired", "undone"]), _negated=True),
                        fields=("content_hash",),
                        name="one_import_per_content",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "rows",
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.expressions.CombinedExpression(
                                        django.db.models.expressions.CombinedExpression(
                                            django.db.models.expressions.CombinedExpression(
                                                models.F("added"), "+", models.F("known")
                                            ),
                                            "+",
                                            models.F("duplicates"),
                                        ),
                                        "+",
                                        models.F("skipped"),
                                    ),
                                    "+",
                                    models.F("rejected"),
                                ),
                            )
                        ),
                        name="the_rows_of_an_import_add_up",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("finished_at__isnull", True),
                            ("finished_at__gte", models.F("requested_at")),
                            _connector="OR",
                        ),
                        name="an_import_does_not_end_before_it_starts",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "checking",
                                    "checked",
                                    "waiting",
                                    "running",
                                    "finished",
                                    "refused",
                                    "expired",
                                    "undoing",
                                    "undone",
                                ],
                            )
                        ),
                        name="import_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("finished_at__isnull", False),
                                (
                                    "state__in",
                                    ["finished", "refused", "expired", "undoing", "undone"],
                                ),
                            ),
                            models.Q(
                                ("finished_at__isnull", True),
                                ("state__in", ["checking", "checked", "waiting", "running"]),
                            ),
                            _connector="OR",
                        ),
                        name="an_import_that_has_ended_says_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "refused"), _negated=True),
                            ("error__isnull", False),
                            _connector="OR",
                        ),
                        name="a_refused_import_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "checked"), _negated=True),
                            ("checked_at__isnull", False),
                            _connector="OR",
                        ),
                        name="a_checked_import_says_since_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "expired"), _negated=True),
                            models.Q(("confirmed", False), ("rows", 0)),
                            _connector="OR",
                        ),
                        name="an_expired_import_brought_nobody",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("list_is_confirmed", False), ("confirmed", True), _connector="OR"
                        ),
                        name="a_confirmed_list_has_a_statement",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "undone"), ("undone_at__isnull", False)),
                            models.Q(
                                models.Q(("state", "undone"), _negated=True),
                                ("undone_at__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="an_undone_import_says_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "added__gte",
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.expressions.CombinedExpression(
                                        django.db.models.expressions.CombinedExpression(
                                            models.F("undone"), "+", models.F("kept_mailed")
                                        ),
                                        "+",
                                        models.F("kept_opted_in"),
                                    ),
                                    "+",
                                    models.F("kept_changed"),
                                ),
                            )
                        ),
                        name="an_undo_counts_added_readers_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Subscriber",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("email", models.CharField(db_collation="C", max_length=254)),
                (
                    "email_key",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.db.models.functions.text.Lower("email"),
                        output_field=models.CharField(db_collation="C", max_length=254),
                    ),
                ),
                ("name", models.CharField(blank=True, db_default="", default="", max_length=256)),
                ("state", models.CharField(default="pending", max_length=12)),
                ("source", models.CharField(default="sign-up", max_length=10)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("confirmed_at", models.DateTimeField(blank=True, null=True)),
                ("unsubscribed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "subscriber_import",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="subscribers",
                        to="subscribers.subscriberimport",
                    ),
                ),
                ("gone_at", models.DateTimeField(editable=False, null=True)),
                ("record_requests", models.PositiveIntegerField(db_default=0, default=0)),
                ("requests", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "left_topics",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), db_default=[], default=list, size=None
                    ),
                ),
                ("fields", models.JSONField(db_default={}, default=dict)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), db_default=[], default=list, size=None
                    ),
                ),
                ("edited_at", models.DateTimeField(editable=False, null=True)),
            ],
            options={
                "db_table": "subscriber",
                "permissions": [("manage_readers", "Can see, import, export and erase readers")],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["created_at"],
                        name="subscriber_pending_since",
                    ),
                    models.Index(fields=["state", "id"], name="subscriber_by_state"),
                    models.Index(
                        django.db.models.functions.text.Lower("name"),
                        "id",
                        name="subscriber_by_name",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("email_key",), name="one_subscriber_per_address"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("email__regex", "^[!-?A-~]+@[!-?A-~]+$")),
                        name="an_address_is_printable_ascii_around_one_at_sign",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("name__regex", "[\\u0001-\\u001F\\u007F-\\u009F\\u2028\\u2029]"),
                            _negated=True,
                        ),
                        name="a_name_is_free_of_control_characters",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ["pending", "confirmed", "unsubscribed", "bounced", "complained"],
                            )
                        ),
                        name="subscriber_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "confirmed"), _negated=True),
                            ("confirmed_at__isnull", False),
                            _connector="OR",
                        ),
                        name="a_confirmed_subscriber_says_since_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "pending"), _negated=True),
                            ("confirmed_at__isnull", True),
                            _connector="OR",
                        ),
                        name="a_pending_subscriber_never_confirmed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "unsubscribed"), _negated=True),
                            ("unsubscribed_at__isnull", False),
                            _connector="OR",
                        ),
                        name="an_unsubscribed_subscriber_says_since_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("unsubscribed_at__isnull", True),
                            models.Q(("state__in", ["pending", "confirmed"]), _negated=True),
                            _connector="OR",
                        ),
                        name="who_left_is_neither_pending_nor_confirmed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("source", "import"), ("subscriber_import__isnull", False)),
                            models.Q(
                                ("source__in", ["sign-up", "api", "desk"]),
                                ("subscriber_import__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="an_imported_subscriber_names_the_import",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConsentWording",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("text_hash", models.BinaryField()),
                ("text", models.TextField()),
                ("first_used_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "consent_wording",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("text_hash",), name="a_wording_is_kept_once")
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="ConsentRecord",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("act", models.CharField(max_length=12)),
                ("how", models.CharField(max_length=13)),
                ("at", models.DateTimeField(db_default=Now())),
                ("network", models.CharField(blank=True, db_default="", max_length=43)),
                ("request", models.PositiveIntegerField(null=True)),
                ("name", models.CharField(blank=True, db_default="", default="", max_length=256)),
                ("detail", models.TextField(blank=True, db_default="")),
                (
                    "subscriber",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="consent_records",
                        to="subscribers.subscriber",
                    ),
                ),
                (
                    "subscriber_import",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="subscribers.subscriberimport",
                    ),
                ),
                (
                    "wording",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="subscribers.consentwording",
                    ),
                ),
                ("fields", models.JSONField(db_default={}, default=dict)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), db_default=[], default=list, size=None
                    ),
                ),
            ],
            options={
                "db_table": "consent_record",
                "default_permissions": (),
                "indexes": [
                    models.Index(
                        condition=models.Q(
                            ("act__in", ["asked", "record asked"]),
                            models.Q(("network", ""), _negated=True),
                        ),
                        fields=["network", "at"],
                        name="consent_asked_from",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("act__in", ["asked", "confirmed", "record asked"]), _negated=True
                            ),
                            ("request__isnull", False),
                            _connector="OR",
                        ),
                        name="who_asked_or_confirmed_has_a_number",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("act", "imported"), _negated=True),
                            ("subscriber_import__isnull", False),
                            _connector="OR",
                        ),
                        name="an_imported_consent_names_the_import",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("act", "confirmed"), _negated=True),
                            ("how", "link"),
                            _connector="OR",
                        ),
                        name="only_the_person_confirms",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "how__in",
                                [
                                    "form",
                                    "embedded form",
                                    "archive",
                                    "link",
                                    "one-click",
                                    "import",
                                    "provider",
                                    "operator",
                                    "api",
                                ],
                            )
                        ),
                        name="consent_way_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "act__in",
                                [
                                    "asked",
                                    "confirmed",
                                    "imported",
                                    "left",
                                    "bounced",
                                    "complained",
                                    "blocked",
                                    "record asked",
                                    "stated",
                                    "chose topics",
                                    "left topics",
                                    "lifted",
                                ],
                            )
                        ),
                        name="consent_act_is_known",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="subscriber",
            name="opt_in",
            field=models.ForeignKey(
                blank=True,
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="subscribers.consentrecord",
            ),
        ),
        migrations.CreateModel(
            name="Suppression",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("address_key", models.CharField(db_collation="C", max_length=254)),
                ("reason", models.CharField(max_length=11)),
                ("origin", models.CharField(max_length=8)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("at", models.DateTimeField(db_default=Now())),
                ("lifted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lifted_by",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="subscribers.consentrecord",
                    ),
                ),
                ("reported_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lifted_how",
                    models.CharField(blank=True, db_default="", default="", max_length=8),
                ),
            ],
            options={
                "db_table": "suppression",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("address_key",), name="one_suppression_per_address"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "address_key",
                                django.db.models.functions.text.Lower(models.F("address_key")),
                            )
                        ),
                        name="a_suppressed_address_is_case_folded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("reason__in", ["bounce", "complaint", "unsubscribe", "manual"])
                        ),
                        name="suppression_reason_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("origin__in", ["provider", "operator", "import"])),
                        name="suppression_origin_is_known",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Bounce",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("provider_id", models.CharField(max_length=40, null=True)),
                ("type", models.CharField(max_length=40)),
                ("inactive", models.BooleanField()),
                ("at", models.DateTimeField()),
                ("description", models.TextField(blank=True, db_default="")),
                ("issue_id", models.UUIDField(null=True)),
                ("version", models.PositiveIntegerField(null=True)),
                (
                    "subscriber",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="bounces",
                        to="subscribers.subscriber",
                    ),
                ),
            ],
            options={
                "db_table": "bounce",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("provider_id__isnull", False)),
                        fields=("provider_id",),
                        name="a_bounce_is_kept_once",
                    )
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Erasure",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("address_hash", models.BinaryField()),
                ("erased_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "erasure",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("address_hash",), name="an_address_is_erased_once"
                    )
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="DataRequest",
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
                ("email_key", models.CharField(db_collation="C", max_length=254)),
                ("network", models.CharField(blank=True, db_default="", max_length=43)),
            ],
            options={
                "db_table": "data_request",
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["network", "requested_at"], name="data_request_asked_from")
                ],
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
                        name="datarequest_state_is_known",
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
                        name="datarequest_that_ended_says_when",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RejectedRow",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("line", models.PositiveIntegerField()),
                ("result", models.CharField(max_length=8)),
                ("email", models.CharField(blank=True, max_length=320)),
                ("reason", models.CharField(max_length=40)),
                ("parameters", models.JSONField(db_default={}, default=dict)),
                (
                    "subscriber_import",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rejected_rows",
                        to="subscribers.subscriberimport",
                    ),
                ),
            ],
            options={
                "db_table": "rejected_row",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("subscriber_import", "line"), name="a_row_is_rejected_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("result__in", ["rejected", "skipped"])),
                        name="a_row_was_rejected_or_skipped",
                    ),
                ],
                "indexes": [],
            },
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
                (
                    "subscriber_import",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="pieces",
                        to="subscribers.subscriberimport",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
            ],
            options={
                "db_table": "import_piece",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="ImportSeenAddress",
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
                (
                    "subscriber_import",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="subscribers.subscriberimport",
                    ),
                ),
                ("email_key", models.CharField(db_collation="C", max_length=254)),
                ("line", models.PositiveIntegerField()),
                ("has_left", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "db_table": "import_seen_address",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="ReaderTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("state", models.CharField(max_length=12)),
                ("readers", models.IntegerField()),
            ],
            options={
                "db_table": "reader_total",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="ReaderFieldDefinition",
            fields=[
                ("key", models.CharField(max_length=30, primary_key=True, serialize=False)),
                ("label", models.CharField(max_length=60)),
                (
                    "fallback",
                    models.CharField(blank=True, db_default="", default="", max_length=256),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("on_form", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "db_table": "reader_field",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        deferrable=django.db.models.constraints.Deferrable["DEFERRED"],
                        fields=("position",),
                        name="one_field_per_position",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("key__regex", "^[a-z][a-z0-9_]*$")),
                        name="a_field_key_is_a_plain_word",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("position__range", (1, 20))),
                        name="there_are_at_most_20_fields",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Tag",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("is_topic", models.BooleanField(db_default=False, default=False)),
                (
                    "description",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
            ],
            options={
                "db_table": "tag",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("name"), name="one_tag_per_name"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="a_tag_has_a_name"
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60)),
                ("state", models.CharField(blank=True, default="", max_length=12)),
                ("text", models.CharField(blank=True, default="", max_length=254)),
                ("source", models.CharField(blank=True, default="", max_length=17)),
                ("since", models.DateField(null=True)),
                ("until", models.DateField(null=True)),
                (
                    "tag",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="subscribers.tag",
                    ),
                ),
            ],
            options={
                "db_table": "saved_filter",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("name"),
                        name="one_saved_filter_per_name",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True),
                        name="a_saved_filter_has_a_name",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "",
                                    "pending",
                                    "confirmed",
                                    "unsubscribed",
                                    "bounced",
                                    "complained",
                                ],
                            )
                        ),
                        name="a_saved_filter_names_a_known_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("source__in", ["", "import", "sign-up", "api", "desk"]),
                            ("source__regex", "^import-[0-9]+$"),
                            _connector="OR",
                        ),
                        name="a_saved_filter_names_a_known_source",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("text__regex", "[^@\\s]@[^@\\s]+\\.[^@\\s]"), _negated=True),
                            models.Q(("name__regex", "[^@\\s]@[^@\\s]+\\.[^@\\s]"), _negated=True),
                        ),
                        name="a_saved_filter_has_no_whole_address",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", ""), _negated=True),
                            models.Q(("text", ""), _negated=True),
                            models.Q(("source", ""), _negated=True),
                            ("tag__isnull", False),
                            ("since__isnull", False),
                            ("until__isnull", False),
                            _connector="OR",
                        ),
                        name="a_saved_filter_filters",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="ReaderChange",
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
                ("key", models.UUIDField(unique=True)),
                ("action", models.CharField(max_length=12)),
                ("tag_id", models.IntegerField(null=True)),
                ("tag_name", models.CharField(blank=True, db_default="", max_length=60)),
                ("reason", models.CharField(blank=True, db_default="", default="", max_length=500)),
                (
                    "readers",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), size=None
                    ),
                ),
                ("changed", models.PositiveIntegerField(db_default=0)),
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
                        name="readerchange_state_is_known",
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
                        name="readerchange_that_ended_says_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("action__in", ["tag", "untag"]), ("tag_id__isnull", False)),
                            models.Q(
                                ("action__in", ["unsubscribe", "block", "lift-bounce", "erase"]),
                                ("tag_id__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="a_change_of_tags_names_the_tag",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("action", "lift-bounce"), _negated=True),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="a_lifting_of_bounces_says_why",
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
                                ("state__in", ["waiting", "running"]),
                            ),
                            models.Q(("done", models.F("total")), ("state", "finished")),
                            ("state__in", ["cancelled", "failed"]),
                            _connector="OR",
                        ),
                        name="a_finished_change_handled_all_readers",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DeletedFieldOrTag",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=5)),
                ("key", models.CharField(max_length=30)),
                ("after", models.BigIntegerField(db_default=0, default=0)),
            ],
            options={
                "db_table": "deleted_field_or_tag",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "key"), name="a_field_or_tag_is_deleted_once"
                    )
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="NewReaders",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("month", models.DateField()),
                ("source", models.CharField(max_length=13)),
                ("readers", models.IntegerField()),
            ],
            options={
                "db_table": "new_readers",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
    ]

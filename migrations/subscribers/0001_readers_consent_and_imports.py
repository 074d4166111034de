"""Readers, their consent, suppressions and imports."""

from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Lower, Now


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SubscriberImport",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("content_hash", models.BinaryField()),
                ("filename", models.CharField(max_length=255)),
                (
                    "confirmed",
                    models.BooleanField(),
                ),
                ("rows", models.PositiveIntegerField(default=0)),
                ("added", models.PositiveIntegerField(default=0)),
                ("known", models.PositiveIntegerField(default=0)),
                ("duplicates", models.PositiveIntegerField(default=0)),
                ("skipped", models.PositiveIntegerField(default=0)),
                ("rejected", models.PositiveIntegerField(default=0)),
                (
                    "started_at",
                    models.DateTimeField(db_default=Now()),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "bytes_read",
                    models.BigIntegerField(
                        db_default=0,
                        default=0,
                    ),
                ),
                ("epoch", models.BigIntegerField(db_default=0, default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("owner", models.UUIDField(null=True)),
                ("read_as", models.JSONField(null=True)),
                (
                    "refusal",
                    models.JSONField(null=True),
                ),
                (
                    "stalled_claims",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                    ),
                ),
                (
                    "size",
                    models.BigIntegerField(
                        db_default=0,
                        default=0,
                    ),
                ),
                (
                    "skipped_because",
                    models.JSONField(
                        default=dict,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("checking", "is being checked"),
                            ("checked", "checked, not imported"),
                            ("waiting", "waits for a worker"),
                            ("running", "is being imported"),
                            ("finished", "finished"),
                            ("refused", "refused"),
                            ("expired", "never imported, deleted"),
                        ],
                        db_default="waiting",
                        default="waiting",
                        max_length=8,
                    ),
                ),
                (
                    "statement",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        max_length=300,
                    ),
                ),
                (
                    "imported_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "checked_at",
                    models.DateTimeField(
                        null=True,
                    ),
                ),
                (
                    "statuses",
                    models.JSONField(
                        db_default={},
                        default=dict,
                    ),
                ),
                (
                    "mapping",
                    models.JSONField(
                        db_default=[],
                        default=list,
                    ),
                ),
            ],
            options={
                "verbose_name": "import",
                "db_table": "subscriber_import",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "expired"), _negated=True),
                        fields=("content_hash",),
                        name="one_import_per_content",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "rows",
                                models.F("added")
                                + models.F("known")
                                + models.F("duplicates")
                                + models.F("skipped")
                                + models.F("rejected"),
                            )
                        ),
                        name="the_rows_of_an_import_add_up",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("finished_at__isnull", True),
                            ("finished_at__gte", models.F("started_at")),
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
                                ],
                            )
                        ),
                        name="import_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("finished_at__isnull", False),
                                ("state__in", ["finished", "refused", "expired"]),
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
                            ("refusal__isnull", False),
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
                        expression=Lower("email"),
                        output_field=models.CharField(db_collation="C", max_length=254),
                    ),
                ),
                ("name", models.CharField(blank=True, db_default="", default="", max_length=256)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "has not confirmed yet"),
                            ("confirmed", "wants the letter"),
                            ("unsubscribed", "has left"),
                            ("bounced", "the address does not take mail"),
                            ("complained", "called it spam"),
                        ],
                        default="pending",
                        max_length=12,
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[("import", "Import"), ("sign-up", "Sign Up"), ("api", "Api")],
                        default="sign-up",
                        max_length=10,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=Now()),
                ),
                ("confirmed_at", models.DateTimeField(blank=True, null=True)),
                ("unsubscribed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "subscriber_import",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="subscribers",
                        to="subscribers.subscriberimport",
                    ),
                ),
                (
                    "gone_at",
                    models.DateTimeField(
                        editable=False,
                        null=True,
                    ),
                ),
                (
                    "record_requests",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                    ),
                ),
                (
                    "requests",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                    ),
                ),
            ],
            options={
                "db_table": "subscriber",
                "permissions": [("manage_readers", "Can see, import, export and erase readers")],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "pending")),
                        fields=["created_at"],
                        name="subscriber_pending_since",
                    )
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
                            models.Q(("source", "import"), ("subscriber_import__isnull", False)),
                            models.Q(
                                ("source__in", ["sign-up", "api"]),
                                ("subscriber_import__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="an_imported_subscriber_names_the_import",
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
                ],
            },
        ),
        migrations.CreateModel(
            name="ConsentWording",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("text_hash", models.BinaryField()),
                ("text", models.TextField()),
                (
                    "first_used_at",
                    models.DateTimeField(db_default=Now()),
                ),
            ],
            options={
                "db_table": "consent_wording",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(fields=("text_hash",), name="a_wording_is_kept_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ConsentRecord",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "act",
                    models.CharField(
                        choices=[
                            ("asked", "asked for the letter"),
                            ("confirmed", "confirmed by the reader"),
                            ("imported", "came with an import"),
                            ("left", "left"),
                            ("bounced", "mail to the address bounced"),
                            ("complained", "called a letter spam"),
                            ("blocked", "was blocked"),
                            ("record asked", "asked what is held about them"),
                            ("stated", "was added; consent was given elsewhere"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "how",
                    models.CharField(
                        choices=[
                            ("form", "by the form on our page"),
                            ("embedded form", "by a form on another site"),
                            ("link", "by the link in a mail"),
                            ("one-click", "by the button of their mail program"),
                            ("import", "by an import"),
                            ("provider", "reported by the provider"),
                            ("operator", "by an operator at the desk"),
                            ("api", "by a program"),
                        ],
                        max_length=13,
                    ),
                ),
                ("at", models.DateTimeField(db_default=Now())),
                ("network", models.CharField(blank=True, db_default="", max_length=43)),
                ("request", models.PositiveIntegerField(null=True)),
                ("name", models.CharField(blank=True, db_default="", default="", max_length=256)),
                (
                    "detail",
                    models.TextField(
                        blank=True,
                        db_default="",
                    ),
                ),
                (
                    "subscriber",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=models.DO_NOTHING,
                        related_name="consent_records",
                        to="subscribers.subscriber",
                    ),
                ),
                (
                    "subscriber_import",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="+",
                        to="subscribers.subscriberimport",
                    ),
                ),
                (
                    "wording",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="+",
                        to="subscribers.consentwording",
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
                                ],
                            )
                        ),
                        name="consent_act_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "how__in",
                                [
                                    "form",
                                    "embedded form",
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
                ],
            },
        ),
        migrations.CreateModel(
            name="Suppression",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "address_key",
                    models.CharField(db_collation="C", max_length=254),
                ),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("bounce", "mail to it bounces"),
                            ("complaint", "its owner called the letter spam"),
                            ("unsubscribe", "its owner left on the provider's page"),
                            ("manual", "an operator blocked it"),
                        ],
                        max_length=11,
                    ),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("provider", "Provider"),
                            ("operator", "Operator"),
                            ("import", "Import"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=Now()),
                ),
                (
                    "at",
                    models.DateTimeField(
                        db_default=Now(),
                    ),
                ),
                ("lifted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "lifted_by",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to="subscribers.consentrecord",
                    ),
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
                                Lower(models.F("address_key")),
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
            },
        ),
        migrations.CreateModel(
            name="Bounce",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "provider_id",
                    models.CharField(max_length=40, null=True),
                ),
                ("type", models.CharField(max_length=40)),
                (
                    "inactive",
                    models.BooleanField(),
                ),
                ("at", models.DateTimeField()),
                ("description", models.TextField(blank=True, db_default="")),
                ("issue_id", models.UUIDField(null=True)),
                ("version", models.PositiveIntegerField(null=True)),
                (
                    "subscriber",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=models.DO_NOTHING,
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
            },
        ),
        migrations.CreateModel(
            name="Erasure",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "address_hash",
                    models.BinaryField(),
                ),
                (
                    "erased_at",
                    models.DateTimeField(db_default=Now()),
                ),
            ],
            options={
                "db_table": "erasure",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("address_hash",), name="an_address_is_erased_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DataRequest",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "email_key",
                    models.CharField(db_collation="C", max_length=254),
                ),
                ("network", models.CharField(blank=True, db_default="", max_length=43)),
                (
                    "asked_at",
                    models.DateTimeField(db_default=Now()),
                ),
                ("failures", models.PositiveSmallIntegerField(db_default=0)),
            ],
            options={
                "db_table": "data_request",
                "default_permissions": (),
                "indexes": [
                    models.Index(fields=["network", "asked_at"], name="data_request_asked_from")
                ],
            },
        ),
        migrations.CreateModel(
            name="RejectedRow",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "line",
                    models.PositiveIntegerField(),
                ),
                (
                    "result",
                    models.CharField(
                        choices=[("rejected", "Rejected"), ("skipped", "Skipped")], max_length=8
                    ),
                ),
                (
                    "email",
                    models.CharField(blank=True, max_length=320),
                ),
                ("reason", models.CharField(max_length=40)),
                ("parameters", models.JSONField(db_default={}, default=dict)),
                (
                    "subscriber_import",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
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
                        on_delete=models.DO_NOTHING,
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
                        on_delete=models.DO_NOTHING,
                        related_name="+",
                        to="subscribers.subscriberimport",
                    ),
                ),
                ("email_key", models.CharField(db_collation="C", max_length=254)),
                ("line", models.PositiveIntegerField()),
                (
                    "has_left",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                    ),
                ),
            ],
            options={
                "db_table": "import_seen_address",
                "default_permissions": (),
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
                on_delete=models.DO_NOTHING,
                related_name="+",
                to="subscribers.consentrecord",
            ),
        ),
    ]

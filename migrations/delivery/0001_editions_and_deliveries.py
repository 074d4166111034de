"""Create the tables of editions, batches, deliveries, attempts and reports."""

import delivery.models.newsletter
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.lookups
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("newsletter_site", "__first__"),
        ("publishing", "0001_issue"),
        ("subscribers", "0001_readers_and_consent"),
    ]

    operations = [
        migrations.CreateModel(
            name="WorkerHeartbeat",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("started_at", models.DateTimeField(db_default=Now())),
                ("heard_at", models.DateTimeField(db_default=Now())),
                ("host", models.CharField(max_length=255)),
                ("pid", models.PositiveIntegerField()),
                ("warning", models.TextField(blank=True, db_default="")),
                ("problems", models.JSONField(db_default=[], default=list)),
            ],
            options={"db_table": "worker", "indexes": [], "constraints": []},
        ),
        migrations.CreateModel(
            name="Edition",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("version", models.PositiveIntegerField()),
                ("kind", models.CharField(default="newsletter", max_length=20)),
                ("stream", models.CharField(max_length=100)),
                ("idempotency_key", models.CharField(max_length=49, null=True)),
                ("title", models.CharField(max_length=500)),
                ("html_content", models.TextField(blank=True)),
                ("text_content", models.TextField(blank=True)),
                ("html_mail", models.TextField(blank=True)),
                ("text_mail", models.TextField(blank=True)),
                ("content_hash", models.BinaryField()),
                ("archive_url", models.CharField(blank=True, max_length=500)),
                ("published_at", models.DateTimeField(db_default=Now())),
                ("held_until", models.DateTimeField(db_default=Now())),
                ("audience", models.PositiveIntegerField(default=0)),
                ("control", models.CharField(default="running", max_length=20)),
                ("control_reason", models.TextField(blank=True)),
                ("control_at", models.DateTimeField(null=True)),
                ("probing", models.BooleanField(default=False)),
                (
                    "author",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "issue",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="editions",
                        to="publishing.issue",
                    ),
                ),
                (
                    "goes_to",
                    models.CharField(db_default="everyone", default="everyone", max_length=10),
                ),
                ("unreconciled_since", models.DateTimeField(null=True)),
                ("watched_bounced", models.PositiveIntegerField(db_default=0, default=0)),
                ("watched_complained", models.PositiveIntegerField(db_default=0, default=0)),
                ("watched_left", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "approved_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "preview_text",
                    models.CharField(blank=True, db_default="", default="", max_length=300),
                ),
                ("scheduled_for", models.DateTimeField(null=True)),
                ("scheduled_local", models.CharField(db_default="", default="", max_length=16)),
                ("scheduled_zone", models.CharField(db_default="", default="", max_length=64)),
                ("deliveries_dropped_at", models.DateTimeField(null=True)),
                (
                    "merge_fields",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=30),
                        db_default=[],
                        default=list,
                        size=None,
                    ),
                ),
                ("with_tags", models.JSONField(db_default=[], default=list)),
                ("without_tags", models.JSONField(db_default=[], default=list)),
                ("sender", models.CharField(blank=True, db_default="", default="", max_length=400)),
                ("approved_sender", models.TextField(blank=True, db_default="", default="")),
                ("confirmed_readers", models.PositiveIntegerField(null=True)),
                ("without_note", models.BooleanField(db_default=False, default=False)),
                (
                    "written_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "edition",
                "indexes": [
                    models.Index(
                        condition=models.Q(("control__in", ["scheduled", "paused", "stopped"])),
                        fields=["control"],
                        name="edition_held_back",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("issue", "version"), name="one_edition_per_issue_and_version"
                    ),
                    models.UniqueConstraint(
                        fields=("author", "idempotency_key"),
                        name="an_author_publishes_once_per_key",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("version__gte", 1)), name="versions_count_from_one"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("html_mail", ""), _negated=True),
                            models.Q(("text_mail", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="an_edition_has_text_or_html",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("held_until__gte", models.F("published_at"))),
                        name="an_edition_is_not_held_before_it_is_published",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind", "newsletter"),
                            models.Q(("control__in", ["cancelled", "closed"]), _negated=True),
                            _connector="OR",
                        ),
                        name="mail_on_request_never_ends",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "control__in",
                                [
                                    "scheduled",
                                    "running",
                                    "paused",
                                    "stopped",
                                    "cancelled",
                                    "closed",
                                ],
                            )
                        ),
                        name="edition_control_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("goes_to__in", ["everyone", "reached", "unreached", "nobody"])
                        ),
                        name="edition_goes_to_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("unreconciled_since__isnull", True),
                            models.Q(("control", "running"), _negated=True),
                            _connector="OR",
                        ),
                        name="nothing_runs_before_it_is_reconciled",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("control", "scheduled"), _negated=True),
                            models.Q(
                                ("kind", "newsletter"),
                                ("scheduled_for__isnull", False),
                                models.Q(("scheduled_local", ""), _negated=True),
                                models.Q(("scheduled_zone", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="a_scheduled_edition_says_when",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("control", "scheduled"), _negated=True),
                            ("audience", 0),
                            _connector="OR",
                        ),
                        name="nobody_is_in_the_audience_before_its_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("deliveries_dropped_at__isnull", True),
                            models.Q(
                                ("control__in", ["running", "cancelled", "closed"]),
                                ("kind", "newsletter"),
                                ("probing", False),
                                ("unreconciled_since__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="deliveries_are_dropped_only_of_ended_editions",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("control", "stopped"), _negated=True),
                            models.Q(("control_reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="a_stopped_edition_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    *("newsletter", "confirmation", "record", "welcome", "test"),
                                    "invitation",
                                ],
                            )
                        ),
                        name="edition_kind_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("sender", ""), ("kind", "test"), _connector="OR"),
                        name="only_a_test_letter_tries_a_sender",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("approved_by__isnull", True),
                            models.Q(("approved_by", models.F("author")), _negated=True),
                            models.Q(
                                ("written_by__isnull", False),
                                models.Q(("written_by", models.F("approved_by")), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="two_people_stand_behind_an_approved_edition",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("without_note", False), ("goes_to", "nobody"), _connector="OR"
                        ),
                        name="only_a_correction_of_the_page_has_no_note",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Batch",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("position", models.BigIntegerField()),
                ("state", models.CharField(default="ready", max_length=20)),
                ("epoch", models.PositiveIntegerField(db_default=0, default=0)),
                ("owner", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("due_at", models.DateTimeField(db_default=Now())),
                ("attempt", models.UUIDField(null=True)),
                ("tries", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("deferrals", models.PositiveIntegerField(db_default=0, default=0)),
                ("crashes", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("unknown_since", models.DateTimeField(null=True)),
                ("lookups", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("reason", models.TextField(blank=True, db_default="")),
                ("size", models.PositiveIntegerField()),
                ("waiting", models.PositiveIntegerField()),
                ("sent", models.PositiveIntegerField(db_default=0, default=0)),
                ("unknown", models.PositiveIntegerField(db_default=0, default=0)),
                ("suppressed", models.PositiveIntegerField(db_default=0, default=0)),
                ("withdrawn", models.PositiveIntegerField(db_default=0, default=0)),
                ("failed", models.PositiveIntegerField(db_default=0, default=0)),
                ("missed", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "edition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="delivery.edition"
                    ),
                ),
                ("blocked", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("bounced", models.PositiveIntegerField(db_default=0, default=0)),
                ("complained", models.PositiveIntegerField(db_default=0, default=0)),
                ("rolled_up", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "db_table": "batch",
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "ready")),
                        fields=["position", "id"],
                        name="batch_ready",
                    ),
                    models.Index(
                        condition=models.Q(("state", "unknown")),
                        fields=["due_at"],
                        name="batch_unknown",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ["claimed", "sending", "looking_up"])),
                        fields=["id"],
                        name="batch_leased",
                    ),
                    models.Index(
                        condition=models.Q(
                            django.db.models.lookups.Exact(
                                models.Case(
                                    models.When(
                                        models.Q(("state", "done"), ("missed", 0)),
                                        then=models.Value("over"),
                                    ),
                                    default=models.Value("not over"),
                                    output_field=models.TextField(),
                                ),
                                "not over",
                            )
                        ),
                        fields=["edition"],
                        name="batch_open",
                    ),
                    models.Index(
                        condition=models.Q(("rolled_up", False)),
                        fields=["edition", "state"],
                        name="batch_not_rolled_up",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "size",
                                django.db.models.expressions.CombinedExpression(
                                    django.db.models.expressions.CombinedExpression(
                                        django.db.models.expressions.CombinedExpression(
                                            django.db.models.expressions.CombinedExpression(
                                                django.db.models.expressions.CombinedExpression(
                                                    models.F("waiting"), "+", models.F("sent")
                                                ),
                                                "+",
                                                models.F("unknown"),
                                            ),
                                            "+",
                                            models.F("suppressed"),
                                        ),
                                        "+",
                                        models.F("withdrawn"),
                                    ),
                                    "+",
                                    models.F("failed"),
                                ),
                            )
                        ),
                        name="the_counts_of_a_batch_add_up",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "edition",
                                django.db.models.expressions.CombinedExpression(
                                    models.F("id"), "/", models.Value(1048576)
                                ),
                            )
                        ),
                        name="a_batch_is_numbered_within_its_edition",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("missed__lte", models.F("failed"))),
                        name="the_missed_are_among_the_failed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("size__lte", 500)), name="a_batch_holds_at_most_500"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("state__in", ["claimed", "sending", "looking_up"]),
                                ("lease_until__isnull", False),
                                ("owner__isnull", False),
                            ),
                            models.Q(
                                ("state__in", ["ready", "unknown", "paused", "parked", "done"]),
                                ("lease_until__isnull", True),
                                ("owner__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="a_lease_is_held_exactly_while_a_worker_works",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "done"), _negated=True),
                            models.Q(("unknown", 0), ("waiting", 0)),
                            _connector="OR",
                        ),
                        name="a_done_batch_has_nothing_open",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["unknown", "looking_up"]), _negated=True),
                            ("unknown_since__isnull", False),
                            _connector="OR",
                        ),
                        name="unknown_has_a_beginning",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "sending"), _negated=True),
                            ("attempt__isnull", False),
                            _connector="OR",
                        ),
                        name="a_call_is_made_under_an_attempt",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "issue",
                        "recipient",
                        "version",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("address", models.CharField(max_length=254)),
                ("name", models.CharField(blank=True, db_default="", default="", max_length=256)),
                ("outcome", models.CharField(default="waiting", max_length=10)),
                ("sent_at", models.DateTimeField(null=True)),
                ("provider_message_id", models.CharField(max_length=100, null=True)),
                ("evidence", models.CharField(max_length=10, null=True)),
                ("reason", models.TextField(null=True)),
                (
                    "batch",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="delivery.batch",
                    ),
                ),
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
                (
                    "recipient",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="deliveries",
                        to="subscribers.subscriber",
                    ),
                ),
                ("missed", models.BooleanField(null=True)),
                ("bounced_at", models.DateTimeField(null=True)),
                ("complained_at", models.DateTimeField(null=True)),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "fields",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), null=True, size=None
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "db_table": "delivery",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "outcome__in",
                                ["waiting", "sent", "unknown", "suppressed", "withdrawn", "failed"],
                            )
                        ),
                        name="delivery_outcome_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("outcome", "sent"), _negated=True),
                            models.Q(
                                ("evidence__isnull", False),
                                ("provider_message_id__isnull", False),
                                ("sent_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="sent_only_with_a_provider_id_a_time_and_evidence",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("outcome", "failed"), _negated=True),
                            ("reason__isnull", False),
                            _connector="OR",
                        ),
                        name="failed_always_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("missed__isnull", True),
                            models.Q(("missed", True), ("outcome", "failed")),
                            _connector="OR",
                        ),
                        name="only_a_failed_copy_was_missed",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Attempt",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("batch_id", models.BigIntegerField()),
                ("stream", models.CharField(max_length=100)),
                ("epoch", models.PositiveIntegerField()),
                ("worker", models.UUIDField()),
                ("messages", models.PositiveIntegerField()),
                ("started_at", models.DateTimeField(db_default=Now())),
                ("deadline_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("result", models.CharField(max_length=10, null=True)),
                ("detail", models.TextField(blank=True)),
                ("accepted", models.PositiveIntegerField(default=0)),
                (
                    "edition",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="delivery.edition",
                    ),
                ),
            ],
            options={
                "db_table": "attempt",
                "indexes": [
                    models.Index(fields=["edition", "finished_at"], name="attempt_of_edition"),
                    models.Index(fields=["batch_id"], name="attempt_of_batch"),
                    models.Index(fields=["started_at", "id"], name="attempt_by_age"),
                    models.Index(
                        condition=models.Q(("accepted__gt", 0)),
                        fields=["stream", "started_at"],
                        name="attempt_accepted_later",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("accepted__lte", models.F("messages"))),
                        name="an_attempt_cannot_accept_more_than_it_carries",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("result", "answered"), _negated=True),
                            ("finished_at__isnull", False),
                            _connector="OR",
                        ),
                        name="an_answered_attempt_has_ended",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Evidence",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("provider_message_id", models.CharField(max_length=100)),
                ("issue_id", models.UUIDField()),
                ("recipient_id", models.BigIntegerField()),
                ("version", models.PositiveIntegerField()),
                ("attempt", models.UUIDField(null=True)),
                ("source", models.CharField(max_length=10)),
                ("accepted_at", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "verbose_name_plural": "evidence",
                "db_table": "evidence",
                "indexes": [
                    models.Index(
                        fields=["issue_id", "recipient_id", "version"], name="evidence_of_delivery"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("provider_message_id",), name="one_row_per_provider_id"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Newsletter",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(
                        default=1, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        default="The Homing Letter",
                        help_text="Shown at the top of every mail and page.",
                        max_length=100,
                        validators=[delivery.models.newsletter.one_line],
                    ),
                ),
                (
                    "tagline",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="One line under the name in mails and on public pages.",
                        max_length=200,
                        validators=[delivery.models.newsletter.one_line],
                    ),
                ),
                (
                    "postal_address",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Shown in the footer of every mail. Many countries require it by law.",
                        max_length=300,
                    ),
                ),
                (
                    "time_zone",
                    models.CharField(
                        default="UTC",
                        help_text="The time zone of the author pages, such as Europe/Lisbon.",
                        max_length=64,
                        validators=[delivery.models.newsletter.named_zone],
                    ),
                ),
                (
                    "language",
                    models.CharField(
                        default="en",
                        help_text="The language of the letters, such as en or pt-PT. Screen readers use it.",
                        max_length=20,
                        validators=[delivery.models.newsletter.one_line],
                    ),
                ),
                (
                    "reply_to",
                    models.EmailField(
                        blank=True,
                        default="",
                        help_text="The address for replies. If empty, replies go to the sender.",
                        max_length=254,
                    ),
                ),
                (
                    "second_person",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Another author who may publish must approve the exact text before it is published.",
                        verbose_name="require a second person's approval",
                    ),
                ),
                ("welcome_issue", models.UUIDField(editable=False, null=True)),
                ("feed_has_full_text", models.BooleanField(db_default=True, default=True)),
                ("accent", models.CharField(db_default="#0f5a6e", default="#0f5a6e", max_length=7)),
                ("footer", models.CharField(blank=True, db_default="", default="", max_length=500)),
                ("header", models.CharField(db_default="name", default="name", max_length=10)),
                (
                    "layout",
                    models.CharField(db_default="classic", default="classic", max_length=10),
                ),
                ("logo", models.CharField(blank=True, db_default="", default="", max_length=200)),
                ("logo_height", models.PositiveSmallIntegerField(db_default=0, default=0)),
                (
                    "dark_logo",
                    models.CharField(blank=True, db_default="", default="", max_length=200),
                ),
                ("dark_logo_width", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("dark_logo_height", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("logo_width", models.PositiveSmallIntegerField(db_default=0, default=0)),
                (
                    "own_sites",
                    models.CharField(blank=True, db_default="", default="", max_length=2000),
                ),
                (
                    "own_links",
                    models.CharField(blank=True, db_default="", default="", max_length=3000),
                ),
                (
                    "about",
                    models.CharField(blank=True, db_default="", default="", max_length=10_000),
                ),
                (
                    "imprint",
                    models.CharField(blank=True, db_default="", default="", max_length=5000),
                ),
                (
                    "sender_address",
                    models.EmailField(blank=True, db_default="", default="", max_length=254),
                ),
                (
                    "sender_name",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        max_length=100,
                        validators=[delivery.models.newsletter.one_line],
                    ),
                ),
                (
                    "sign_up_text",
                    models.CharField(blank=True, db_default="", default="", max_length=500),
                ),
                ("typeface", models.CharField(db_default="book", default="book", max_length=10)),
                ("approver_may_publish", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "verbose_name": "newsletter",
                "db_table": "newsletter",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="there_is_one_newsletter"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("accent__regex", "^#[0-9a-f]{6}$")),
                        name="accent_is_a_colour",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="SendRate",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                ("next_claim_at", models.DateTimeField(db_default=Now())),
                ("slowed_at", models.DateTimeField(null=True)),
                ("slowed_to_per_s", models.FloatField(null=True)),
                ("too_fast_per_s", models.FloatField(null=True)),
            ],
            options={
                "db_table": "send_rate",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="there_is_one_send_rate"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("slowed_at__isnull", True),
                                ("slowed_to_per_s__isnull", True),
                                ("too_fast_per_s__isnull", True),
                            ),
                            models.Q(
                                ("slowed_at__isnull", False),
                                ("slowed_to_per_s__gt", 0),
                                ("too_fast_per_s__gt", models.F("slowed_to_per_s")),
                            ),
                            _connector="OR",
                        ),
                        name="a_slowed_pace_says_how_far_and_since_when",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="Alarm",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=20)),
                ("about", models.CharField(max_length=120)),
                ("reason", models.TextField()),
                ("raised_at", models.DateTimeField(db_default=Now())),
                (
                    "edition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="delivery.edition"
                    ),
                ),
                ("seen_at", models.DateTimeField(null=True)),
                (
                    "seen_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "alarm",
                "indexes": [
                    models.Index(
                        condition=models.Q(("seen_at__isnull", True)),
                        fields=["raised_at"],
                        name="alarm_unseen",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("edition", "kind", "about"), name="an_alarm_is_raised_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "accepted_twice",
                                    "marked_unsettled",
                                    "not_at_provider",
                                    "bounce_threshold",
                                    "other_address",
                                    "batch_crashing",
                                ],
                            )
                        ),
                        name="alarm_kind_is_known",
                    ),
                ],
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
                ("database", models.BigIntegerField()),
                ("since", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "database_identity",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="there_is_one_identity"
                    )
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="ProviderEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("body_hash", models.BinaryField()),
                ("kind", models.CharField(max_length=40)),
                ("body", models.BinaryField()),
                ("received_at", models.DateTimeField(db_default=Now())),
                ("applied_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveSmallIntegerField(db_default=0)),
                (
                    "address_key",
                    models.CharField(blank=True, db_collation="C", db_default="", max_length=254),
                ),
                ("trace", models.CharField(max_length=100, null=True)),
            ],
            options={
                "db_table": "provider_event",
                "indexes": [
                    models.Index(
                        condition=models.Q(("applied_at__isnull", True)),
                        fields=["id"],
                        name="event_to_apply",
                    ),
                    models.Index(
                        condition=models.Q(("address_key", ""), _negated=True),
                        fields=["address_key"],
                        name="event_about",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("body_hash",), name="an_event_is_stored_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("trace__isnull", False)),
                        fields=("trace",),
                        name="an_event_has_one_trace",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProviderSuppression",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("address_key", models.CharField(db_collation="C", max_length=254)),
                ("stream", models.CharField(max_length=100)),
                ("refuses", models.BooleanField()),
                ("reason", models.CharField(blank=True, max_length=40)),
                ("origin", models.CharField(blank=True, max_length=40)),
                ("at", models.DateTimeField()),
            ],
            options={
                "db_table": "provider_suppression",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("address_key", "stream"),
                        name="one_word_of_the_provider_per_address",
                    )
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="SuppressionChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("address", models.CharField(max_length=254)),
                ("address_key", models.CharField(db_collation="C", max_length=254)),
                ("stream", models.CharField(max_length=100)),
                ("change", models.CharField(max_length=10)),
                ("state", models.CharField(db_default="waiting", default="waiting", max_length=10)),
                ("refusal_reason", models.TextField(blank=True, db_default="", default="")),
                ("requested_at", models.DateTimeField(db_default=Now())),
                ("done_at", models.DateTimeField(null=True)),
                (
                    "delivery",
                    models.CharField(blank=True, db_default="", default="", max_length=64),
                ),
                ("delivery_waits", models.BooleanField(db_default=False, default=False)),
            ],
            options={
                "db_table": "suppression_change",
                "indexes": [
                    models.Index(fields=["address_key", "id"], name="suppression_change_of"),
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["id"],
                        name="suppression_change_to_send",
                    ),
                    models.Index(
                        condition=models.Q(("delivery_waits", True)),
                        fields=["id"],
                        name="suppression_change_of_mail",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("change__in", ["suppress", "reactivate"])),
                        name="suppression_change_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["waiting", "done", "refused", "superseded"])
                        ),
                        name="suppression_change_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "refused"), _negated=True),
                            models.Q(("refusal_reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="a_refused_change_says_why",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PeriodicTask",
            fields=[
                ("name", models.CharField(max_length=120, primary_key=True, serialize=False)),
                ("due_at", models.DateTimeField(db_default=Now())),
                ("owner", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("last_success_at", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(db_default=0, default=0)),
                ("last_error", models.TextField(blank=True, db_default="", default="")),
            ],
            options={
                "db_table": "periodic_task",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("lease_until__isnull", True), ("owner__isnull", True)),
                            models.Q(
                                ("lease_until__isnull", False),
                                ("owner__isnull", False),
                                ("started_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="an_owned_task_has_a_lease",
                    )
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="MetricValue",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "name",
                        "labels",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("labels", models.CharField(max_length=300)),
                ("value", models.FloatField(db_default=0, default=0)),
            ],
            options={"db_table": "metric_value", "indexes": [], "constraints": []},
        ),
        migrations.CreateModel(
            name="BatchTotal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("size", models.IntegerField()),
                ("sent", models.IntegerField()),
                ("suppressed", models.IntegerField()),
                ("withdrawn", models.IntegerField()),
                ("failed", models.IntegerField()),
                ("bounced", models.IntegerField()),
                ("complained", models.IntegerField()),
                (
                    "edition",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="delivery.edition",
                    ),
                ),
            ],
            options={
                "db_table": "batch_total",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="EditionResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("delivered", models.IntegerField(db_default=0, default=0)),
                ("unsubscribed", models.IntegerField(db_default=0, default=0)),
                (
                    "edition",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="delivery.edition",
                    ),
                ),
            ],
            options={
                "db_table": "edition_result",
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
        ),
    ]

"""Posted forms, and the responses to them."""

from django.conf import settings
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Now

from idempotency.models import HeaderPairsField


class Migration(migrations.Migration):
    initial = True

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        # Create this type before the table, because a column of the table is an array of this type.
        migrations.RunSQL(
            "CREATE TYPE header_pair AS (name text, value bytea)",
            reverse_sql="DROP TYPE header_pair",
        ),
        migrations.CreateModel(
            name="PostedForm",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "user",
                        "idempotency_key",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL,
                        on_delete=models.CASCADE,
                        db_index=False,
                        related_name="+",
                    ),
                ),
                ("idempotency_key", models.TextField()),
                ("request_fingerprint", models.BinaryField()),
                ("response_status_code", models.SmallIntegerField(null=True)),
                ("response_headers", HeaderPairsField(null=True)),
                ("response_body", models.BinaryField(null=True)),
                ("messages", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "db_table": "idempotency",
                "indexes": [
                    models.Index(
                        fields=["created_at", "user", "idempotency_key"],
                        name="idempotency_rows_by_age",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        name="an_answer_is_saved_whole_or_not_at_all",
                        condition=Q(
                            response_status_code__isnull=True,
                            response_headers__isnull=True,
                            response_body__isnull=True,
                            messages__isnull=True,
                        )
                        | Q(
                            response_status_code__isnull=False,
                            response_headers__isnull=False,
                            response_body__isnull=False,
                            messages__isnull=False,
                        ),
                    ),
                    models.CheckConstraint(
                        name="only_an_answer_to_committed_work_is_saved",
                        condition=Q(response_status_code__range=(200, 399)),
                    ),
                    models.CheckConstraint(
                        name="a_key_is_1_to_49_printable_ascii_characters",
                        condition=Q(idempotency_key__regex=r"^[!-~]([ -~]{0,47}[!-~])?$"),
                    ),
                ],
            },
        ),
    ]

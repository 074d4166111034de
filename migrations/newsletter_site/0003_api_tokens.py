"""Tokens of the API."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("newsletter_site", "0002_groups"),
    ]

    operations = [
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("hash", models.BinaryField(unique=True)),
                ("shown", models.CharField(help_text="Its first characters.", max_length=16)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), size=None
                    ),
                ),
                ("form", models.UUIDField(null=True, unique=True)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("expires_at", models.DateTimeField(null=True)),
                ("last_used_at", models.DateTimeField(help_text="To the minute.", null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "API token",
                "db_table": "api_token",
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("scopes", []), _negated=True),
                            models.Q(("name", ""), _negated=True),
                        ),
                        name="a_token_is_for_something",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("expires_at__isnull", True),
                            ("expires_at__gt", models.F("created_at")),
                            _connector="OR",
                        ),
                        name="a_token_expires_after_it_was_made",
                    ),
                ],
            },
        ),
    ]

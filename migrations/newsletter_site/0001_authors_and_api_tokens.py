"""Create the tables of authors, invitations, passkeys and API tokens."""

import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Lower, Now


class Migration(migrations.Migration):
    initial = True

    dependencies = [("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                (
                    "last_login",
                    models.DateTimeField(blank=True, null=True, verbose_name="last login"),
                ),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                (
                    "first_name",
                    models.CharField(blank=True, max_length=150, verbose_name="first name"),
                ),
                (
                    "last_name",
                    models.CharField(blank=True, max_length=150, verbose_name="last name"),
                ),
                (
                    "email",
                    models.EmailField(blank=True, max_length=254, verbose_name="email address"),
                ),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                (
                    "date_joined",
                    models.DateTimeField(
                        default=django.utils.timezone.now, verbose_name="date joined"
                    ),
                ),
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("two_step_since", models.DateTimeField(editable=False, null=True)),
                ("sign_in_methods_changed_at", models.DateTimeField(editable=False, null=True)),
                (
                    "language",
                    models.CharField(
                        blank=True, db_default="", default="", editable=False, max_length=10
                    ),
                ),
                ("left_at", models.DateTimeField(editable=False, null=True)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "verbose_name": "author",
                "verbose_name_plural": "authors",
                "db_table": "author",
                "abstract": False,
                "permissions": [("manage_authors", "Can invite authors and change their roles")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("left_at__isnull", True), ("is_active", False), _connector="OR"
                        ),
                        name="who_left_cannot_sign_in",
                    )
                ],
            },
            managers=[("objects", django.contrib.auth.models.UserManager())],
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("address", models.CharField(max_length=254)),
                ("name", models.CharField(max_length=150)),
                ("role", models.CharField(max_length=20)),
                ("number", models.PositiveIntegerField(unique=True)),
                ("sent_at", models.DateTimeField(db_default=Now())),
                ("expires_at", models.DateTimeField()),
                (
                    "invited_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "invitation",
                "db_table": "invitation",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(Lower("address"), name="one_invitation_per_address"),
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("sent_at"))),
                        name="an_invitation_expires_after_its_mail",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("hash", models.BinaryField(unique=True)),
                ("prefix", models.CharField(max_length=16)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=20), size=None
                    ),
                ),
                ("form_key", models.UUIDField(null=True, unique=True)),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("expires_at", models.DateTimeField(null=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="tokens", to=settings.AUTH_USER_MODEL
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
        migrations.CreateModel(
            name="Passkey",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=100)),
                ("credential_id", models.BinaryField(unique=True)),
                ("public_key", models.BinaryField()),
                ("sign_count", models.BigIntegerField()),
                ("created_at", models.DateTimeField(db_default=Now())),
                ("last_used_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=models.CASCADE,
                        related_name="passkeys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "passkey",
                "db_table": "passkey",
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True),
                        name="a_passkey_has_a_name",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("sign_count__gte", 0)),
                        name="a_passkey_counts_from_zero",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="OrganisationAccount",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("issuer", models.TextField()),
                ("subject", models.TextField()),
                ("created_at", models.DateTimeField(db_default=Now())),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=models.CASCADE,
                        related_name="organisation_accounts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "organisation’s account",
                "db_table": "organisation_account",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("issuer", "subject"),
                        name="an_organisation_account_belongs_to_one_author",
                    ),
                    models.UniqueConstraint(
                        fields=("user", "issuer"), name="an_author_has_one_account_at_an_issuer"
                    ),
                ],
            },
        ),
    ]

"""The tables of the site: users, invitations, passkeys and API tokens."""

import uuid

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from newsletter_site.groups import AUTHORS

LONGEST_NAME = 100


class User(AbstractUser):
    """An author or operator, who signs in with `username`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The time when two-step sign-in was turned on; null while it is off
    # (sign_in/two_step_devices.py).
    two_step_since = models.DateTimeField(null=True, editable=False)
    # The language of the desk; empty for the browser's language.
    language = models.CharField(
        max_length=10, blank=True, default="", db_default="", editable=False
    )
    # When the author left; null if the author is here, or if somebody else disabled the account.
    left_at = models.DateTimeField(null=True, editable=False)
    # The time when a passkey was last added or removed, or the organisation's account was removed.
    sign_in_methods_changed_at = models.DateTimeField(null=True, editable=False)

    class Meta(AbstractUser.Meta):
        db_table = "author"
        permissions = [AUTHORS[2:]]
        constraints = [
            models.CheckConstraint(
                name="who_left_cannot_sign_in",
                condition=Q(left_at__isnull=True) | Q(is_active=False),
            )
        ]
        # django-stubs expects `str` here, although Django's own names are lazy.
        verbose_name = _("author")  # type: ignore[assignment]
        verbose_name_plural = _("authors")  # type: ignore[assignment]

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Hash the password and the two times, so that changing one of them ends sessions."""
        # django-stubs omits Django's method.
        password_hash: str = super()._get_session_auth_hash(secret=secret)  # type: ignore[misc]
        if self.two_step_since is None and self.sign_in_methods_changed_at is None:
            return password_hash
        return salted_hmac(
            "homing.session",
            f"{password_hash} {self.two_step_since} {self.sign_in_methods_changed_at}",
            secret=secret,
            algorithm="sha256",
        ).hexdigest()


class Invitation(models.Model):
    """An invitation that is not accepted. Accepting or withdrawing it deletes the row.

    `number` is the number of its last mail. Only the link of this mail works.
    """

    id = models.BigAutoField(primary_key=True)
    address = models.CharField(max_length=254)
    name = models.CharField(max_length=150)
    role = models.CharField(max_length=20)  # the name of a role (publishing/desk_roles.py)
    number = models.PositiveIntegerField(unique=True)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    sent_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "invitation"
        default_permissions = ()
        verbose_name = _("invitation")
        constraints = [
            models.UniqueConstraint(Lower("address"), name="one_invitation_per_address"),
            models.CheckConstraint(
                name="an_invitation_expires_after_its_mail",
                condition=Q(expires_at__gt=models.F("sent_at")),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Passkey(models.Model):
    """The public key of a passkey (WebAuthn).

    The private key never leaves the author's device.
    """

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="passkeys"
    )
    name = models.CharField(max_length=LONGEST_NAME)
    credential_id = models.BinaryField(unique=True)
    public_key = models.BinaryField()  # in the format COSE
    # The device's count of its signatures. Passkeys that several devices share always send 0.
    sign_count = models.BigIntegerField()
    created_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "passkey"
        verbose_name = _("passkey")
        default_permissions = ()
        constraints = [
            models.CheckConstraint(name="a_passkey_has_a_name", condition=~Q(name="")),
            models.CheckConstraint(
                name="a_passkey_counts_from_zero", condition=Q(sign_count__gte=0)
            ),
        ]

    def __str__(self) -> str:
        return f"passkey {self.pk} ({self.name})"


class OrganisationAccount(models.Model):
    """An author's account at the issuer `OIDC_ISSUER` (OpenID Connect)."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="organisation_accounts"
    )
    issuer = models.TextField()
    subject = models.TextField()  # the issuer's id of the account, which never changes
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "organisation_account"
        verbose_name = _("organisation’s account")
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                name="an_organisation_account_belongs_to_one_author", fields=["issuer", "subject"]
            ),
            models.UniqueConstraint(
                name="an_author_has_one_account_at_an_issuer", fields=["user", "issuer"]
            ),
        ]

    def __str__(self) -> str:
        return f"account {self.pk} at {self.issuer}"


class ApiToken(models.Model):
    """A token, stored as its hash.

    `form_key` is unique, so a form that is posted twice creates only one token.
    """

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens"
    )
    name = models.CharField(max_length=LONGEST_NAME)
    hash = models.BinaryField(unique=True)
    prefix = models.CharField(max_length=16)  # the token's first characters
    scopes = ArrayField(models.CharField(max_length=20))
    form_key = models.UUIDField(null=True, unique=True)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)  # exact to the minute
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "api_token"
        verbose_name = _("API token")
        default_permissions = ()
        constraints = [
            models.CheckConstraint(
                name="a_token_is_for_something", condition=~Q(scopes=[]) & ~Q(name="")
            ),
            models.CheckConstraint(
                name="a_token_expires_after_it_was_made",
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=models.F("created_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"token {self.pk} ({self.name})"

"""Create, list and revoke tokens, and describe their state."""

import secrets
import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from django.contrib.admin.models import ADDITION
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from api.bearer import Scope
from delivery.control_characters import clean_name
from delivery.humanise import counted, digits
from newsletter_site.models import LONGEST_NAME, ApiToken
from newsletter_site.tokens.authenticate import PREFIX_LENGTH, RANDOM_BYTES, build_token, hash_token
from publishing.api import issue_scopes
from subscribers.api import reader_scopes
from subscribers.record_activity import record_activity

# All scopes, in the order in which the page shows them.
SCOPES: tuple[Scope, ...] = (*issue_scopes.SCOPES, *reader_scopes.SCOPES)
NAMES = tuple(scope.name for scope in SCOPES)

LONGEST_DAYS = 3650


class TokenRefusedError(ValueError):
    """No token was created or revoked.

    The error's text is shown to the user; `field` names the form field with the wrong value.
    """

    def __init__(self, field: str, reason: object) -> None:
        super().__init__(str(reason))
        self.field = field


class NewToken(NamedTuple):
    """The row of a new token, and the token itself, which is shown only once."""

    row: ApiToken
    token: str


def scopes_allowed_for(user: Any) -> list[Scope]:
    """Return the scopes for which the user has a permission."""
    return [scope for scope in SCOPES if scope.is_allowed_for(user)]


def create_token(
    user: Any,
    name: str,
    scopes: Iterable[str],
    *,
    expires_days: int | None = None,
    form_key: uuid.UUID | None = None,
    from_command_line: bool = False,
) -> NewToken:
    """Create a token.

    Raise `TokenRefusedError`, for example if the same `form_key` is posted again.
    """
    name = clean_name(name)
    chosen = set(scopes)
    _refuse(user, name, chosen, expires_days)
    token = build_token(secrets.token_urlsafe(RANDOM_BYTES))
    new = ApiToken(
        user=user,
        name=name,
        hash=hash_token(token),
        prefix=token[:PREFIX_LENGTH],
        scopes=[scope for scope in NAMES if scope in chosen],
        form_key=form_key,
    )
    if expires_days is not None:
        new.expires_at = cast("Any", Now()) + timedelta(days=expires_days)
    with transaction.atomic():
        # Ignore a conflict. If the conflict raised an error, PostgreSQL would log the row.
        ApiToken.objects.bulk_create([new], ignore_conflicts=True)
        row = ApiToken.objects.filter(hash=hash_token(token)).first()
        if row is None:
            sentence = _(
                "This form was already sent, and its token was shown then. If you did not keep the "
                "token, revoke it and create another one."
            )
            raise TokenRefusedError("form", sentence)
        about = {"days": expires_days, "from_command_line": from_command_line}
        _record("make_token", user.pk, row, flag=ADDITION, scopes=row.scopes, **about)
    return NewToken(row, token)


def revoke(
    token: int, by: uuid.UUID, *, among: QuerySet[ApiToken], from_command_line: bool = False
) -> ApiToken:
    """Revoke one of the tokens in `among`. A second call changes nothing.

    Raise `TokenRefusedError` if `among` does not contain the token.
    """
    with transaction.atomic():
        row = among.select_for_update(of=("self",)).filter(pk=token).first()
        if row is None:
            raise TokenRefusedError("token", _("Token {id} does not exist.").format(id=token))
        if row.revoked_at is None:
            ApiToken.objects.filter(pk=row.pk).update(revoked_at=Now())
            _record("revoke_token", by, row, from_command_line=from_command_line)
            row.refresh_from_db()
        return row


def active_tokens() -> QuerySet[ApiToken]:
    """Select the tokens that are neither revoked nor expired."""
    return ApiToken.objects.filter(revoked_at=None).exclude(expires_at__lte=Now())


def revoke_all_of(user: Any) -> None:
    """Revoke all tokens of a user who leaves, in the caller's transaction."""
    for row in active_tokens().filter(user=user).select_related("user").order_by("pk"):
        revoke(row.pk, user.pk, among=visible_tokens(user))


def visible_tokens(user: Any) -> QuerySet[ApiToken]:
    """Return a user's tokens, or all tokens for a superuser."""
    tokens = ApiToken.objects.select_related("user").order_by("-pk")
    return tokens if user.is_superuser else tokens.filter(user=user)


def is_accepted(token: ApiToken, now: datetime) -> bool:
    """Return whether calls with the token are accepted at `now`, the database's time."""
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def describe_state(token: ApiToken, now: datetime) -> str:
    """Describe when a token was used and when it ends. Days are in UTC."""
    if token.revoked_at is not None:
        return _("Revoked {day}.").format(day=_day(token.revoked_at))
    if token.expires_at is not None and token.expires_at <= now:
        return _("Expired {day}.").format(day=_day(token.expires_at))
    used, expires = _("Never used."), _("Does not expire.")
    if token.last_used_at:
        used = _("Last used {day}.").format(day=_day(token.last_used_at))
    if token.expires_at:
        expires = _("Expires {day}.").format(day=_day(token.expires_at))
    return f"{used} {expires}"


def _day(at: datetime) -> str:
    return date_format(at, _("j M Y"))


def _refuse(user: Any, name: str, scopes: set[str], expires_days: int | None) -> None:
    username = user.get_username()
    if not name:
        reason = _("The name is empty. Enter one, such as the program that uses the token.")
        raise TokenRefusedError("name", reason)
    if len(name) > LONGEST_NAME:
        reason = counted(
            "The name has {n} character. Use at most {most}.",
            "The name has {n} characters. Use at most {most}.",
            len(name),
            most=digits(LONGEST_NAME),
        )
        raise TokenRefusedError("name", reason)
    if not name.isprintable():
        reason = _("The name contains an invisible control character. Remove it.")
        raise TokenRefusedError("name", reason)
    if not scopes:
        reason = _("Nothing is selected. Choose what the token is for.")
        raise TokenRefusedError("scopes", reason)
    if unknown := scopes - set(NAMES):
        reason = _("“{scope}” is not a scope. Use one of: {scopes}.")
        reason = reason.format(scope=min(unknown)[:40], scopes=", ".join(NAMES))
        raise TokenRefusedError("scopes", reason)
    if not (user.is_active and user.is_staff):
        reason = _("{username} cannot sign in, so the token would be refused.")
        raise TokenRefusedError("user", reason.format(username=username))
    if too_much := scopes - {scope.name for scope in scopes_allowed_for(user)}:
        reason = _("{username} lacks the permission for “{scope}”. Choose other scopes.")
        reason = reason.format(username=username, scope=min(too_much))
        raise TokenRefusedError("scopes", reason)
    if expires_days is not None and not 1 <= expires_days <= LONGEST_DAYS:
        reason = _("A token can expire after 1 to {most} days, or never.")
        raise TokenRefusedError("expires", reason.format(most=digits(LONGEST_DAYS)))


def _record(code: str, by: uuid.UUID, row: ApiToken, **params: Any) -> None:
    record_activity(code, by, row, name=f"{row} of {row.user.get_username()}", **params)

"""Make and revoke tokens, and say which scopes there are and what state a token is in."""

import secrets
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from django.contrib.admin.models import ADDITION
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from api.bearer import Scope
from newsletter_site.models import LONGEST_NAME, ApiToken
from newsletter_site.tokens.authenticate import PREFIX_LENGTH, RANDOM_BYTES, build_token, hash_token
from publishing.api import scopes as issue_scopes
from subscribers.api import scopes as reader_scopes
from subscribers.record_activity import record_activity

# In the order in which they are offered.
SCOPES: tuple[Scope, ...] = (*issue_scopes.SCOPES, *reader_scopes.SCOPES)
NAMES = tuple(scope.name for scope in SCOPES)

LONGEST_DAYS = 3650
POSTED_BEFORE = (
    "This form was posted before and its token was shown then. If you do not have it, revoke that "
    "token and make another."
)


class TokenRefusedError(ValueError):
    """No token was made or revoked; one sentence says why. `field` names the wrong value."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


class NewToken(NamedTuple):
    """The row of a new token, and the token itself, which is shown only now."""

    row: ApiToken
    token: str


def scopes_allowed_for(user: Any) -> list[Scope]:
    """Return the scopes of which the user has a permission."""
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
    """Make a token. Raises `TokenRefusedError`, also for a second post with the same `form_key`."""
    name = " ".join(name.split())
    chosen = set(scopes)
    for error in _errors(user, name, chosen, expires_days):
        raise TokenRefusedError(*error)
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
        # A second post is ignored and not an error: the server would write the row into its log.
        ApiToken.objects.bulk_create([new], ignore_conflicts=True)
        row = ApiToken.objects.filter(hash=hash_token(token)).first()
        if row is None:
            raise TokenRefusedError("form", POSTED_BEFORE)
        about = {"days": expires_days, "from_command_line": from_command_line}
        _record("make_token", user.pk, row, flag=ADDITION, scopes=row.scopes, **about)
    return NewToken(row, token)


def refuse_second_post(form_key: uuid.UUID) -> None:
    """Raise `TokenRefusedError` if this form has made its token."""
    if ApiToken.objects.filter(form_key=form_key).exists():
        raise TokenRefusedError("form", POSTED_BEFORE)


def revoke(
    token: int, by: uuid.UUID, *, among: QuerySet[ApiToken], from_command_line: bool = False
) -> ApiToken:
    """Revoke a token of `among`; twice is safe. Raises `TokenRefusedError` if it is not there."""
    with transaction.atomic():
        row = among.select_for_update(of=("self",)).filter(pk=token).first()
        if row is None:
            raise TokenRefusedError("token", f"There is no token {token}.")
        if row.revoked_at is None:
            ApiToken.objects.filter(pk=row.pk).update(revoked_at=Now())
            _record("revoke_token", by, row, from_command_line=from_command_line)
            row.refresh_from_db()
        return row


def visible_tokens(user: Any) -> QuerySet[ApiToken]:
    """Return the tokens that a user sees and may revoke: their own, or all for a superuser."""
    tokens = ApiToken.objects.select_related("user").order_by("-pk")
    return tokens if user.is_superuser else tokens.filter(user=user)


def is_accepted(token: ApiToken, now: datetime) -> bool:
    """Whether calls with the token are accepted at `now`, the database's time."""
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def describe_state(token: ApiToken, now: datetime) -> str:
    """Return such as `used 9 Oct 2026, until 1 Jan 2027`. Days are in UTC."""
    if token.revoked_at is not None:
        return f"revoked {_day(token.revoked_at)}"
    if token.expires_at is not None and token.expires_at <= now:
        return f"expired {_day(token.expires_at)}"
    used = f"used {_day(token.last_used_at)}" if token.last_used_at else "never used"
    until = f"until {_day(token.expires_at)}" if token.expires_at else "without an end"
    return f"{used}, {until}"


def _day(at: datetime) -> str:
    return f"{at.day} {at:%b %Y}"


def _errors(
    user: Any, name: str, scopes: set[str], expires_days: int | None
) -> Iterator[tuple[str, str]]:
    who = user.get_username()
    if not name:
        yield "name", "Give it a name, such as the program that will use it."
    if len(name) > LONGEST_NAME:
        yield "name", f"The name has {len(name)} characters; at most {LONGEST_NAME} are possible."
    if not name.isprintable():
        yield "name", "The name holds a character that cannot be printed; take it out."
    if not scopes:
        yield "scopes", "Choose what the token is for, one thing at least."
    if unknown := scopes - set(NAMES):
        known = ", ".join(NAMES)
        yield "scopes", f"“{min(unknown)[:40]}” is nothing that a token is for; known are {known}."
    if not (user.is_active and user.is_staff):
        yield "person", f"{who} may not sign in, so no token would be accepted."
    if too_much := scopes - {scope.name for scope in scopes_allowed_for(user)}:
        yield "scopes", f"“{min(too_much)}” takes a permission that {who} lacks."
    if expires_days is not None and not 1 <= expires_days <= LONGEST_DAYS:
        yield "expires", f"A token is good for 1 to {LONGEST_DAYS} days, or without an end."


def _record(code: str, by: uuid.UUID, row: ApiToken, **params: Any) -> None:
    record_activity(code, by, row, name=f"{row} of {row.user.get_username()}", **params)

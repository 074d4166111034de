"""
Making tokens and taking them back: the only place that writes the table, but for the moment of use.

Both stand in the audit trail, in the same transaction. The token itself is in nobody's hands but
the caller's: it is neither stored nor logged.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from django.contrib.admin.models import ADDITION
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from newsletter_site.models.api_token import LONGEST_NAME, ApiToken
from newsletter_site.tokens.scopes import NAMES, open_to
from newsletter_site.tokens.secret import RANDOM_BYTES, SHOWN, hash_of, token_of
from subscribers.record_activity import record_activity

LONGEST_DAYS = 3650
POSTED_BEFORE = (
    "This form was posted before and its token was shown then. If you do not have it, revoke that "
    "token and make another."
)


class TokenRefusedError(ValueError):
    """No token was made, or taken back; one sentence says why. `field` is what is at fault."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, slots=True)
class Made:
    """A token that was just made: its row, and the token itself, this once."""

    row: ApiToken
    token: str


def make(
    person: Any,
    name: str,
    scopes: Iterable[str],
    *,
    expires_days: int | None = None,
    form: uuid.UUID | None = None,
    made_by: uuid.UUID | None = None,
    from_command_line: bool = False,
) -> Made:
    """
    Make a token for `person`, who may do at least as much as it is for.

    `form` is the key of the form it was asked for in: a second post of it is refused, because the
    first was shown its token. `made_by` stands in the audit trail, the person themselves unless
    named. Raises `TokenRefusedError`.
    """
    name = " ".join(name.split())
    wanted = [scope for scope in NAMES if scope in set(scopes)]
    _refuse(person, name, set(scopes), expires_days)
    token = token_of(secrets.token_urlsafe(RANDOM_BYTES))
    expires: Any = None
    if expires_days is not None:
        expires = cast("Any", Now()) + timedelta(days=expires_days)
    with transaction.atomic():
        # A second post is passed over and not refused by the database: its server would write
        # the row into its log.
        ApiToken.objects.bulk_create(
            [
                ApiToken(
                    person=person,
                    name=name,
                    hash=hash_of(token),
                    shown=token[:SHOWN],
                    scopes=wanted,
                    form=form,
                    expires_at=expires,
                )
            ],
            ignore_conflicts=True,
        )
        row = ApiToken.objects.filter(hash=hash_of(token)).first()
        if row is None:
            raise TokenRefusedError("form", POSTED_BEFORE)
        _record(
            "make_token",
            made_by or person.pk,
            row,
            flag=ADDITION,
            scopes=list(wanted),
            days=expires_days,
            from_command_line=from_command_line,
        )
    return Made(row, token)


def refuse_a_second_post(form: uuid.UUID) -> None:
    """Raises `TokenRefusedError` where this form has made its token, before anything is asked."""
    if ApiToken.objects.filter(form=form).exists():
        raise TokenRefusedError("form", POSTED_BEFORE)


def revoke(
    token: int, by: uuid.UUID, *, among: QuerySet[ApiToken], from_command_line: bool = False
) -> ApiToken:
    """
    Take a token of `among` back, for good and at once; doing it again changes nothing.

    Raises `TokenRefusedError` if there is none of this number.
    """
    with transaction.atomic():
        row = among.select_for_update(of=("self",)).filter(pk=token).first()
        if row is None:
            raise TokenRefusedError("token", f"There is no token {token}.")
        if row.revoked_at is None:
            ApiToken.objects.filter(pk=row.pk).update(revoked_at=Now())
            _record("revoke_token", by, row, from_command_line=from_command_line)
            row.refresh_from_db()
        return row


def tokens_of(person: Any) -> QuerySet[ApiToken]:
    """The tokens that somebody sees and may take back: their own, or everybody's."""
    tokens = ApiToken.objects.select_related("person").order_by("-pk")
    return tokens if person.is_superuser else tokens.filter(person=person)


def _refuse(person: Any, name: str, scopes: set[str], expires_days: int | None) -> None:
    if not name:
        raise TokenRefusedError("name", "Give it a name, such as the program that will use it.")
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise TokenRefusedError(
            "name",
            f"The name has {len(name)} characters; at most {LONGEST_NAME} are possible."
            if len(name) > LONGEST_NAME
            else "The name holds a character that cannot be printed; take it out.",
        )
    if not scopes:
        raise TokenRefusedError("scopes", "Choose what the token is for, one thing at least.")
    unknown = scopes - set(NAMES)
    if unknown:
        raise TokenRefusedError(
            "scopes",
            f"“{min(unknown)[:40]}” is nothing that a token is for; known are {', '.join(NAMES)}.",
        )
    if not (person.is_active and person.is_staff):
        raise TokenRefusedError(
            "person", f"{person.get_username()} may not sign in, so no token would be accepted."
        )
    too_much = scopes - {scope.name for scope in open_to(person)}
    if too_much:
        raise TokenRefusedError(
            "scopes",
            f"“{min(too_much)}” takes a permission that {person.get_username()} lacks.",
        )
    if expires_days is not None and not 1 <= expires_days <= LONGEST_DAYS:
        raise TokenRefusedError(
            "expires", f"A token is good for 1 to {LONGEST_DAYS} days, or without an end."
        )


def _record(code: str, by: uuid.UUID, row: ApiToken, **params: Any) -> None:
    record_activity(code, by, row, name=f"{row} of {row.person.get_username()}", **params)

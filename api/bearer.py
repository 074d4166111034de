"""
Who calls, and whether they may: the token in the header `Authorization`, and what it is good for.

A call may what both allow: the scopes of the token, chosen when it was made, and the permissions of
its person, as they are now. Which token is whose is known above (`newsletter_site/tokens/`) and
registered here. No cookie and no session is looked at.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from ninja.security.base import AuthBase

from api.problem import Kind, ProblemError
from delivery import log_context

LONGEST_HEADER = 200
REALM = 'Bearer realm="homing"'


@dataclass(frozen=True, slots=True)
class Scope:
    """
    What a token may be made for: its name, what it lets a program do, and the permissions of which
    its person must have one.
    """

    name: str
    words: str
    permissions: tuple[str, ...]

    def is_open_to(self, person: Any) -> bool:
        """Whether somebody's permissions, as they are now, reach so far."""
        return any(map(person.has_perm, self.permissions))


@dataclass(frozen=True, slots=True)
class Caller:
    """The person whose token came with a call, and the names of its scopes."""

    person: Any
    scopes: frozenset[str]

    @property
    def id(self) -> uuid.UUID:
        """The person's id, under which everything is done and recorded."""
        found: uuid.UUID = self.person.pk
        return found


WhoseToken = Callable[[str], Caller | None]


class _Registry:
    """Who knows the tokens; set once when the site is put together."""

    whose: WhoseToken | None = None


def register(whose: WhoseToken) -> None:
    """Say who finds the caller of a token; None of one that is not, or no longer, accepted."""
    _Registry.whose = whose


class Bearer(AuthBase):
    """The guard of an operation: lets through who has a token with this scope, and may."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    openapi_description = (
        "A token, made on the desk's page of tokens or by `./homing token create`."
    )

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope

    def __call__(self, request: HttpRequest) -> Caller:
        """The caller. Raises `ProblemError`: 401 without a good token, 403 if it is too little."""
        caller = _caller(request.headers.get("Authorization", ""))
        scope = self.scope
        if scope.name not in caller.scopes:
            raise ProblemError(
                Kind.NOT_ALLOWED,
                f"This token was not made for “{scope.name}”; make one that is.",
                headers={
                    "WWW-Authenticate": f'{REALM}, error="insufficient_scope", scope="{scope.name}"'
                },
            )
        if not scope.is_open_to(caller.person):
            raise ProblemError(
                Kind.NOT_ALLOWED,
                f"{scope.words} needs a permission that the person of this token lacks. Ask an "
                "operator for it.",
            )
        log_context.bind(author=caller.person.pk)
        return caller


def caller_of(request: HttpRequest) -> Caller:
    """Who calls, once the guard of the operation let them through."""
    caller: Caller = request.auth  # type: ignore[attr-defined]  # where ninja keeps it
    return caller


def _caller(header: str) -> Caller:
    kind, _, token = header.partition(" ")
    if kind.lower() != "bearer" or not token.strip() or len(header) > LONGEST_HEADER:
        found = "holds something else" if header else "is missing"
        raise ProblemError(
            Kind.NOT_SIGNED_IN,
            f"The header Authorization {found}; “Bearer” and a token are expected.",
            headers={"WWW-Authenticate": REALM},
        )
    if _Registry.whose is None:
        raise LookupError("Nobody is registered who knows the tokens.")
    caller = _Registry.whose(token.strip())
    if caller is None:
        raise ProblemError(
            Kind.NOT_SIGNED_IN,
            "This token is not accepted: it is unknown, has expired or was revoked, or its person "
            "may not sign in.",
            headers={"WWW-Authenticate": f'{REALM}, error="invalid_token"'},
        )
    return caller

"""Authenticate a call by the token in its header `Authorization`.

Cookies are ignored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from ninja.security.base import AuthBase

from api.problem import ProblemError, ProblemType
from delivery import log_context

LONGEST_HEADER = 200
REALM = 'Bearer realm="homing"'


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope of API tokens. The token's owner needs one of the scope's `permissions`."""

    name: str
    description: Promise
    permissions: tuple[str, ...]

    def is_allowed_for(self, user: Any) -> bool:
        """Return whether the user now has one of the permissions of this scope."""
        return any(map(user.has_perm, self.permissions))


@dataclass(frozen=True, slots=True)
class Caller:
    """The user whose token came with a call, and the names of the token's scopes."""

    user: Any
    scopes: frozenset[str]


_registered: list[Callable[[str], Caller | None]] = []


def register_token_lookup(find_caller: Callable[[str], Caller | None]) -> None:
    """Register the function that tells which caller a token belongs to.

    `find_caller` returns None for a token that is not accepted.
    """
    _registered[:] = [find_caller]


class Bearer(AuthBase):
    """Require a token with this scope, whose owner has a permission for the scope."""

    openapi_type = "http"
    openapi_scheme = "bearer"
    openapi_description = "A token from the page “Tokens”, or from `./homing token create`."

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope

    def __call__(self, request: HttpRequest) -> Caller:
        """Return the caller whom the token names.

        Raise `ProblemError` with the status 401 if the token is missing or not accepted, and with
        403 if the scope or the permission is missing.
        """
        caller = _authenticate(request.headers.get("Authorization", ""))
        scope = self.scope
        if scope.name not in caller.scopes:
            raise ProblemError(
                ProblemType.NOT_ALLOWED,
                f"This token lacks the scope “{scope.name}”. Create a token with this scope.",
                headers={
                    "WWW-Authenticate": f'{REALM}, error="insufficient_scope", scope="{scope.name}"'
                },
            )
        if not scope.is_allowed_for(caller.user):
            raise ProblemError(
                ProblemType.NOT_ALLOWED,
                f"The scope “{scope.name}” needs a permission that the owner of this token lacks. "
                "Ask your administrator for it.",
            )
        log_context.bind(author=caller.user.pk)
        return caller


def get_caller(request: HttpRequest) -> Caller:
    """Return the caller that `Bearer` accepted."""
    caller: Caller = request.auth  # type: ignore[attr-defined]  # ninja keeps the caller here
    return caller


def _authenticate(header: str) -> Caller:
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip() or len(header) > LONGEST_HEADER:
        found = "contains something else" if header else "is missing"
        raise ProblemError(
            ProblemType.NOT_SIGNED_IN,
            f"The header Authorization {found}. Send “Bearer” and a token.",
            headers={"WWW-Authenticate": REALM},
        )
    (find_caller,) = _registered
    caller = find_caller(token.strip())
    if caller is None:
        raise ProblemError(
            ProblemType.NOT_SIGNED_IN,
            "This token is not accepted. It is unknown, expired or revoked, or its owner cannot "
            "sign in. Create a new token.",
            headers={"WWW-Authenticate": f'{REALM}, error="invalid_token"'},
        )
    return caller

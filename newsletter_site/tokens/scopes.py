"""All scopes of tokens, in the order in which they are offered."""

from typing import Any

from api.bearer import Scope
from publishing.api import scopes as issue_scopes
from subscribers.api import scopes as reader_scopes

SCOPES: tuple[Scope, ...] = (*issue_scopes.SCOPES, *reader_scopes.SCOPES)
NAMES = tuple(scope.name for scope in SCOPES)


def scopes_allowed_for(user: Any) -> list[Scope]:
    """Return the scopes of which the user has a permission."""
    return [scope for scope in SCOPES if scope.is_allowed_for(user)]

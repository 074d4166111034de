"""Everything that a token can be made for, in the order in which it is offered."""

from __future__ import annotations

from typing import Any

from api.bearer import Scope
from publishing.api import scopes as of_issues
from subscribers.api import scopes as of_readers

SCOPES: tuple[Scope, ...] = (*of_issues.SCOPES, *of_readers.SCOPES)
NAMES = tuple(scope.name for scope in SCOPES)


def open_to(person: Any) -> list[Scope]:
    """What somebody may make a token for: no more than they may do themselves."""
    return [scope for scope in SCOPES if scope.is_allowed_for(person)]

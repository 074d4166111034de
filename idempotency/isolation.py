"""
The isolation level that a claim relies on, and the refusal of any other.

Under READ COMMITTED a second post that has waited for the first sees what the first committed.
Under a stricter level it keeps looking at the moment before and gets an error instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS
from psycopg import IsolationLevel

REASON = (
    "A form posted twice waits for the first post and then reads its answer, "
    "which only READ COMMITTED allows."
)
ADVICE = "Set OPTIONS['isolation_level'] of the database to psycopg.IsolationLevel.READ_COMMITTED."


class WrongIsolationError(ImproperlyConfigured):
    """The database is not used at READ COMMITTED. It is a fault in the settings, not in a form."""


def isolation_fault(databases: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Say in one sentence what is wrong with the setting DATABASES, or None if nothing is."""
    asked = databases[DEFAULT_DB_ALIAS].get("OPTIONS", {}).get("isolation_level")
    if asked == IsolationLevel.READ_COMMITTED:
        return None
    if asked is None:
        return (
            "The database settings ask for no isolation level, so the server's own default rules."
        )
    names = {level.value: level.name.replace("_", " ") for level in IsolationLevel}
    return f"The database settings ask for isolation level {names.get(asked, repr(asked))}."


def refuse_wrong_isolation() -> None:
    """
    Raise WrongIsolationError, with the reason, unless every connection asks for READ COMMITTED.

    For entry points that run no system checks, such as a web server's `wsgi.py`.
    """
    fault = isolation_fault(settings.DATABASES)
    if fault:
        raise WrongIsolationError(f"{fault} {REASON} {ADVICE}")


@register("idempotency")
def check_isolation_level(**kwargs: Any) -> list[CheckMessage]:
    """Refuse any level but READ COMMITTED. Reads the settings only: no database is asked."""
    fault = isolation_fault(settings.DATABASES)
    return [Error(f"{fault} {REASON}", hint=ADVICE, id="idempotency.E001")] if fault else []

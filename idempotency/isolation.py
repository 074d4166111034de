"""Refuse any isolation level but READ COMMITTED: a waiting post must see the first one's answer."""

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
    """The database is not used at READ COMMITTED. The settings are wrong, not the form."""


def isolation_error(databases: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Say in one sentence what is wrong with the setting DATABASES, or None if nothing is."""
    level = databases[DEFAULT_DB_ALIAS].get("OPTIONS", {}).get("isolation_level")
    if level == IsolationLevel.READ_COMMITTED:
        return None
    if level is None:
        return "The database settings ask for no isolation level, so the server's default rules."
    names = {each.value: each.name.replace("_", " ") for each in IsolationLevel}
    return f"The database settings ask for isolation level {names.get(level, repr(level))}."


def refuse_wrong_isolation() -> None:
    """Raise WrongIsolationError where no system checks run, such as in `wsgi.py`."""
    if error := isolation_error(settings.DATABASES):
        raise WrongIsolationError(f"{error} {REASON} {ADVICE}")


@register("idempotency")
def check_isolation_level(**kwargs: Any) -> list[CheckMessage]:
    """Refuse any level but READ COMMITTED. Reads only the settings, not the database."""
    error = isolation_error(settings.DATABASES)
    return [Error(f"{error} {REASON}", hint=ADVICE, id="idempotency.E001")] if error else []

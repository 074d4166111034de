"""Refuse any isolation level except READ COMMITTED.

A waiting post must see the response that the first post committed.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg import IsolationLevel

REASON = gettext_lazy(
    "A form posted twice waits for the first post and then reads its response. Only READ COMMITTED "
    "allows this."
)
ADVICE = gettext_lazy(
    "Set OPTIONS['isolation_level'] of the database to psycopg.IsolationLevel.READ_COMMITTED."
)


class WrongIsolationError(ImproperlyConfigured):
    """The isolation level is not READ COMMITTED.

    The error is in the settings, not in the form.
    """


def isolation_error(databases: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Describe a wrong isolation level in DATABASES; return None if it is right."""
    level = databases[DEFAULT_DB_ALIAS].get("OPTIONS", {}).get("isolation_level")
    if level == IsolationLevel.READ_COMMITTED:
        return None
    if level is None:
        return _("The database settings have no isolation level, so the server's default applies.")
    names = {each.value: each.name.replace("_", " ") for each in IsolationLevel}
    return _("The database settings have the isolation level {level}.").format(
        level=names.get(level, repr(level))
    )


def refuse_wrong_isolation() -> None:
    """Raise WrongIsolationError unless the settings ask for READ COMMITTED.

    Call this function in programs that run no system checks, such as `wsgi.py`.
    """
    if error := isolation_error(settings.DATABASES):
        raise WrongIsolationError(f"{error} {REASON} {ADVICE}")


@register("idempotency")
def check_isolation_level(**kwargs: Any) -> list[CheckMessage]:
    """Refuse any level except READ COMMITTED.

    The check reads the settings, not the database.
    """
    error = isolation_error(settings.DATABASES)
    return [Error(f"{error} {REASON}", hint=str(ADVICE), id="idempotency.E001")] if error else []

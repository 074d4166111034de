"""System checks of our settings and of the settings of PostgreSQL."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, register, run_checks
from django.core.checks import Warning as Advice
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext as _

from delivery.provider.from_settings import provider_class, provider_name
from delivery.worker.call_slots import connections_needed

logger = logging.getLogger(__name__)

# Encodings other than UTF8 refuse letters of some scripts, or store bytes that are not valid text.
ENCODING = "UTF8"
CREATE_DATABASE = "createdb --encoding=UTF8 --template=template0 --locale=C.UTF-8"

_READ = """
    SELECT pg_jit_available(), current_setting('fsync')::boolean,
           current_setting('synchronous_commit'),
           least(current_setting('max_connections')::integer
                     - current_setting('superuser_reserved_connections')::integer
                     -- New in PostgreSQL 16.
                     - coalesce(current_setting('reserved_connections', true), '0')::integer,
                 nullif(datconnlimit, -1), nullif(rolconnlimit, -1)),
           pg_encoding_to_char(encoding)
    FROM pg_database, pg_roles WHERE datname = current_database() AND rolname = current_user
"""


@register("homing")
def check_settings(**kwargs: Any) -> Iterable[CheckMessage]:
    """Return a message for settings that contradict each other or are unsafe together."""
    try:
        provider = provider_class()
        can = provider.capabilities()
    except ImproperlyConfigured as error:
        yield Error(str(error), id="delivery.E004")
        return
    yield from provider.check_settings()
    if settings.DELIVERY_UNKNOWN_POLICY == "resend" and not can.can_be_asked:
        yield Error(
            _(
                "DELIVERY_UNKNOWN_POLICY is “resend”, but {provider} cannot be asked what it "
                "accepted. Readers could get a second copy."
            ).format(provider=can.name),
            hint=_("Set DELIVERY_UNKNOWN_POLICY to hold."),
            id="delivery.E003",
        )
    # A call may be accepted until its deadline, so the last look-up must not come earlier.
    last = settings.DELIVERY_LOOKUP_AFTER_S[-1]
    if last < settings.DELIVERY_HTTP_DEADLINE_S:
        yield Advice(
            _(
                "The last value of DELIVERY_LOOKUP_AFTER_S, {last} s, is before the call deadline "
                "of {deadline} s (DELIVERY_HTTP_DEADLINE_S). A copy that {provider} accepts in "
                "between would be sent twice."
            ).format(
                last=f"{last:g}",
                deadline=f"{settings.DELIVERY_HTTP_DEADLINE_S:g}",
                provider=provider_name(),
            ),
            hint=_("Set the last look-up several minutes after the deadline."),
            id="delivery.W002",
        )


def log_findings() -> None:
    """Log what the checks find, once at the start of a process that keeps running."""
    for found in run_checks():
        if not found.is_silenced():
            level = logging.ERROR if found.is_serious() else logging.WARNING
            logger.log(level, "%s", " ".join(filter(None, (found.msg, found.hint))))


def load_server_problems(cursor: CursorWrapper) -> list[CheckMessage]:
    """Load the problems of the database server for the processes that are configured."""
    cursor.execute(_READ)
    needed = connections_needed(settings.DELIVERY_PROCESSES, settings.DELIVERY_CONCURRENCY)
    return [*find_server_problems(*cursor.fetchone(), needed=needed)]


def find_server_problems(
    compiles: bool,
    fsync: bool,
    synchronous_commit: str,
    connections: int,
    encoding: str = ENCODING,
    *,
    needed: int,
) -> Iterator[CheckMessage]:
    """Yield the problems of the settings that this program's connections have.

    `compiles`: statements are compiled to machine code (`jit`). `connections` is the number of
    connections that this role may open.
    """
    if encoding != ENCODING:
        yield Error(
            _("The encoding of the database is {found}. Homing needs {expected}.").format(
                found=encoding, expected=ENCODING
            ),
            hint=_(
                "Create a new database with “{command} --owner=ROLE NAME”, name it in "
                "DATABASE_URL, and restore a backup into it or import the readers again."
            ).format(command=CREATE_DATABASE),
            id="delivery.E002",
        )
    if compiles:
        yield Advice(
            _("PostgreSQL's setting jit is on, which slows pages and sending."),
            hint=_(
                "Run ./homing migrate, which turns it off for this database, but keeps a value "
                "that somebody chose for the database or role. In that case run ALTER ROLE … IN "
                "DATABASE … SET jit = off for the role and the database of DATABASE_URL. New "
                "connections use the value."
            ),
            id="delivery.W004",
        )
    if not fsync or synchronous_commit == "off":
        yield Advice(
            _(
                "PostgreSQL's settings fsync ({fsync}) and synchronous_commit ({commit}) let it "
                "forget records of calls in a crash. Readers could then get a second copy."
            ).format(fsync="on" if fsync else "off", commit=synchronous_commit),
            hint=_("Set both to on."),
            id="delivery.W005",
        )
    if synchronous_commit == "remote_apply":
        yield Advice(
            _(
                "PostgreSQL's setting synchronous_commit is remote_apply, so each call waits until "
                "a standby server shows its record."
            ),
            hint=_("Set it to on. Homing reads only from the primary server."),
            id="delivery.W006",
        )
    if connections < needed:
        yield Advice(
            _(
                "PostgreSQL lets this role open {n} connections. One worker and one web process "
                "may need {needed}."
            ).format(n=connections, needed=needed),
            hint=_(
                "Raise max_connections or the limit of the database or role, lower "
                "DELIVERY_PROCESSES or DELIVERY_CONCURRENCY, or use PgBouncer."
            ),
            id="delivery.W007",
        )


@register(Tags.database)
def check_server_settings(
    databases: Sequence[str] | None = None, **kwargs: Any
) -> Iterable[CheckMessage]:
    """Return messages about settings of the database server that cost speed or safety."""
    for alias in databases or ():
        try:
            with connections[alias].cursor() as cursor:
                yield from load_server_problems(cursor)
        except DatabaseError as error:
            yield Info(
                _("The settings of the database server were not checked: {error}").format(
                    error=" ".join(str(error).split())
                ),
                hint=_("Run this check again where the database can be reached."),
                id="delivery.I001",
            )

"""Settings of the PostgreSQL server and its database that cost speed or safety."""

from collections.abc import Iterator
from typing import NamedTuple

from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext as _

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


# Other encodings refuse letters of other scripts, or store bytes that are no text.
ENCODING = "UTF8"
CREATE_DATABASE = "createdb --encoding=UTF8 --template=template0 --locale=C.UTF-8"


class Problem(NamedTuple):
    """A problem: the id of its system check, a sentence, and what to do."""

    id: str
    sentence: str
    hint: str

    @property
    def is_error(self) -> bool:
        """Whether Homing does not work while this problem exists."""
        return self.id.startswith("delivery.E")


def load_problems(cursor: CursorWrapper, needed: int) -> list[Problem]:
    """Load the server's problems in words; `needed` is a number of connections."""
    cursor.execute(_READ)
    return [*find_problems(*cursor.fetchone(), needed=needed)]


def find_problems(
    compiles: bool,
    fsync: bool,
    synchronous_commit: str,
    connections: int,
    encoding: str = ENCODING,
    *,
    needed: int,
) -> Iterator[Problem]:
    """Yield the problems of the settings that apply to this program's connections.

    `compiles`: statements are compiled to machine code (`jit`). `connections` is how many this role
    may open.
    """
    if encoding != ENCODING:
        yield Problem(
            "delivery.E002",
            _("The encoding of the database is {found}. Homing needs {expected}.").format(
                found=encoding, expected=ENCODING
            ),
            _(
                "Create a new database with “{command} --owner=ROLE NAME”, name it in "
                "DATABASE_URL, and restore a backup into it or import the readers again."
            ).format(command=CREATE_DATABASE),
        )
    if compiles:
        yield Problem(
            "delivery.W004",
            _("PostgreSQL's setting jit is on, which slows pages and sending."),
            _(
                "Run ./homing migrate, which turns it off for this database, but keeps a value "
                "that somebody chose for the database or role. In that case run ALTER ROLE … IN "
                "DATABASE … SET jit = off for the role and the database of DATABASE_URL. New "
                "connections use the value."
            ),
        )
    if not fsync or synchronous_commit == "off":
        yield Problem(
            "delivery.W005",
            _(
                "PostgreSQL's settings fsync ({fsync}) and synchronous_commit ({commit}) let it "
                "forget records of calls in a crash. Readers could then get a second copy."
            ).format(fsync="on" if fsync else "off", commit=synchronous_commit),
            _("Set both to on."),
        )
    if synchronous_commit == "remote_apply":
        yield Problem(
            "delivery.W006",
            _(
                "PostgreSQL's setting synchronous_commit is remote_apply, so each call waits until "
                "a standby server shows its record."
            ),
            _("Set it to on. Homing reads only from the primary server."),
        )
    if connections < needed:
        yield Problem(
            "delivery.W007",
            _(
                "PostgreSQL lets this role open {n} connections. One worker and one web process "
                "may need {needed}."
            ).format(n=connections, needed=needed),
            _(
                "Raise max_connections or the limit of the database or role, lower "
                "DELIVERY_PROCESSES or DELIVERY_CONCURRENCY, or use PgBouncer."
            ),
        )

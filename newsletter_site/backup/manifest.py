"""Describe a backup, and decide whether it can be restored into a database."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal, Self

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from pydantic import AfterValidator, ConfigDict, Field, NonNegativeInt, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated_dataclass

from delivery.check_settings import CREATE_DATABASE, ENCODING

STOP = "systemctl stop 'homing*'"
STOP_COMPOSE = "docker compose stop web worker"
# A text from which unprintable characters are removed.
Text = Annotated[str, AfterValidator(lambda text: "".join(filter(str.isprintable, text)))]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]


@validated_dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class Manifest:
    """Facts about a backup.

    `migrations` are the migrations that the backed-up database had, as `app.name`. `keys` are the
    fingerprints of SECRET_KEY and its fallbacks. `least_server` is the oldest major version of
    PostgreSQL that can read the dump. `system_identifier` and `database` name the database that was
    backed up.
    """

    made_at: Text
    release: Text
    migrations: Texts
    server: Text
    least_server: NonNegativeInt
    encoding: Text
    database: Text
    system_identifier: Text
    keys: Texts
    format: Literal[1] = 1

    def as_json(self) -> str:
        """Return the manifest as JSON."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a manifest. Raise ValueError if the text is no manifest of this format."""
        try:
            return TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            raise ValueError("another manifest") from error


@dataclass(frozen=True, slots=True)
class Target:
    """The database to restore into.

    `migrations` are the migrations applied to this database. `sessions` is the number of other
    sessions of Homing's role, and `workers` is the number of active workers. If the database is
    empty, `migrations` is empty, and both numbers are 0.
    """

    name: str
    server: int
    encoding: str
    is_empty: bool
    migrations: frozenset[str] = frozenset()
    workers: int = 0
    sessions: int = 0


def fingerprint(key: str) -> str:
    """Return a key's fingerprint, which shows whether two keys are equal.

    The fingerprint does not make it easier to guess the key. The key signs the sessions in the
    dump, so anyone with the dump can already test guesses on these sessions.
    """
    return salted_hmac("newsletter_site.backup", "key", secret=key, algorithm="sha256").hexdigest()


def why_not_restorable(
    backup: Manifest, known: Collection[str], keys: Sequence[str], *, other_key: bool
) -> Iterator[str]:
    """Yield each reason why this code with these keys cannot use the backup.

    `known` are the migrations of this code.
    """
    if missing := sorted(set(backup.migrations) - set(known)):
        yield _(
            "The backup is newer than this code, which does not know its migration {migration}. It "
            "was made by Homing {release}. Install that release "
            "(docs/upgrade.md) and restore the backup with it."
        ).format(migration=missing[0], release=backup.release)
    if backup.keys[0] not in map(fingerprint, keys) and not other_key:
        yield _(
            "SECRET_KEY was another one when the backup was made, so the links in all mail sent "
            "until then would be dead. Restore the settings first: SECRET_KEY must be the old one, "
            "or the old one must be in SECRET_KEY_FALLBACKS. If it is lost, use --other-key."
        )


def why_not_into(target: Target, backup: Manifest, *, replaces: bool) -> Iterator[str]:
    """Yield each reason why the backup cannot be restored into this database."""
    if target.server < backup.least_server:
        yield _(
            "The backup needs PostgreSQL {least} or newer. Database {name} is on PostgreSQL "
            "{server}. Restore into a newer server."
        ).format(least=backup.least_server, name=target.name, server=target.server)
    if target.encoding != ENCODING:
        yield _(
            "The encoding of database {name} is {found}. Homing needs {expected}. Create another "
            "one with “{command} --owner=ROLE NAME” and name it in DATABASE_URL."
        ).format(
            name=target.name, found=target.encoding, expected=ENCODING, command=CREATE_DATABASE
        )
    if target.is_empty:
        return
    if not replaces:
        yield _(
            "Database {name} is not empty. Create a new one with “{command} --owner=ROLE NAME” and "
            "name it in DATABASE_URL. To replace the contents of this one, use --replace."
        ).format(name=target.name, command=CREATE_DATABASE)
    elif not target.migrations:
        yield _(
            "Database {name} has tables, but not Homing's. Check DATABASE_URL. --replace replaces "
            "only a database of Homing."
        ).format(name=target.name)
    elif newer := sorted(target.migrations - set(backup.migrations)):
        yield _(
            "The backup is from before migration {migration} of database {name}, whose tables "
            "would remain. Create a new database with “{command} --owner=ROLE NAME”, name it in "
            "DATABASE_URL, and restore without --replace."
        ).format(migration=newer[0], name=target.name, command=CREATE_DATABASE)
    elif target.workers or target.sessions:
        yield _(
            "Database {name} is in use: active workers: {workers}, other sessions: {sessions}. "
            "Stop the workers and the site, with their socket: {stop} (with Compose: {compose}). "
            "A killed worker counts as active for a minute. If a pooler keeps sessions open, stop "
            "it too."
        ).format(
            name=target.name,
            workers=target.workers,
            sessions=target.sessions,
            stop=STOP,
            compose=STOP_COMPOSE,
        )

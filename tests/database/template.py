"""A migrated template database, and a copy of it for each process of a run.

Migrating takes longer than most tests; a copy takes a tenth of a second. The template is kept until
the migrations change.
"""

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from django.core.management import call_command
from django.db import connection
from psycopg import sql

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "homing_tests_"
# This schema has a copy of each table that holds rows after the migrations.
SEEDS = "seed"
# Django uses this name before a copy is made. No database has this name.
NOWHERE = f"{PREFIX}nowhere"
# Above this size emptying a table with TRUNCATE is cheaper than deleting its rows.
LARGE_BYTES = 1_000_000
# Ids of new rows begin here. With low ids, a row might by chance have an id that a test uses for a
# missing row.
FIRST_ID = 10_000_000
IDS_APART = 100_000


def key() -> str:
    """Return a hash of the files that decide what a migrated database holds."""
    found = hashlib.sha256()
    migrations = [*(ROOT / "migrations").rglob("*.py"), *ROOT.glob("idempotency/migrations/*.py")]
    for path in sorted([*migrations, *ROOT.glob("*/**/sql/*.sql")]):
        found.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    # This file decides the migrations of libraries and the version of the embedded PostgreSQL.
    found.update((ROOT / "requirements" / "demo.txt").read_bytes())
    found.update(Path(__file__).read_bytes())
    return found.hexdigest()[:12]


def forget_given_database() -> None:
    """Prevent tests from using the database in DATABASE_URL, which may hold real data."""
    connection.settings_dict["NAME"] = NOWHERE


@contextmanager
def copied_database() -> Iterator[None]:
    """Let Django's connection use a copy of the template for the length of a block."""
    settings = connection.settings_dict
    name = f"{PREFIX}run_{secrets.token_hex(6)}"
    # An advisory lock belongs to one database, so all runs on a server take their locks in the
    # database `postgres`.
    with _administration("postgres") as admin:
        template = _template(admin)
        # The run holds this lock until it ends. If the lock is free, the run has ended, and the
        # next run drops its copy.
        admin.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])
        _remove_abandoned(admin)
        _create(admin, name, template)
        connection.close()
        settings["NAME"] = name
        try:
            yield
        finally:
            connection.close()
            settings["NAME"] = NOWHERE
            _drop(admin, name)


def is_copy() -> bool:
    """Return whether Django uses a copy of the template, which may be emptied."""
    return str(connection.settings_dict["NAME"]).startswith(f"{PREFIX}run_")


@contextmanager
def _administration(database: str) -> Iterator[psycopg.Connection]:
    """Open another session on the server, in the database `database`."""
    parameters = connection.get_connection_params() | {"dbname": database}
    known = {"host", "port", "user", "password", "dbname", "sslmode"}
    with psycopg.connect(
        **{name: value for name, value in parameters.items() if name in known}, autocommit=True
    ) as admin:
        yield admin


def _template(admin: psycopg.Connection) -> str:
    """Return the name of the template for these migrations; make it if it is missing."""
    name = PREFIX + key()
    # One run makes the template and the other runs wait. When the session ends, its lock is always
    # released.
    with psycopg.connect(admin.info.dsn, password=admin.info.password, autocommit=True) as waiting:
        waiting.execute("SELECT pg_advisory_lock(hashtext(%s))", [PREFIX])
        if _exists(admin, name):
            return name
        for (old,) in admin.execute(
            "SELECT datname FROM pg_database WHERE datname ~ %s",
            [f"^{PREFIX}([0-9a-f]{{12}}|new)$"],
        ).fetchall():
            with suppress(psycopg.errors.ObjectInUse):
                _drop(admin, old)
        making = f"{PREFIX}new"
        _create(admin, making, "template0")
        settings = connection.settings_dict
        given = settings["NAME"]
        connection.close()
        settings["NAME"] = making
        try:
            call_command("migrate", verbosity=0)
            _add_cleaning()
            set_ids_apart()
        finally:
            connection.close()
            settings["NAME"] = given
        admin.execute(
            sql.SQL("ALTER DATABASE {} RENAME TO {}").format(
                sql.Identifier(making), sql.Identifier(name)
            )
        )
    return name


def _add_cleaning() -> None:
    """Add `seed.clean()`, which restores the tables and rows of the migrations."""
    tables = [
        name
        for name in connection.introspection.table_names(include_views=False)
        if name != "django_migrations"
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA {SEEDS}")
        seeded = []
        for table in tables:
            cursor.execute(f'SELECT EXISTS (SELECT FROM "{table}")')
            if cursor.fetchone() == (True,):
                seeded.append(table)
                cursor.execute(f'CREATE TABLE {SEEDS}."{table}" AS TABLE public."{table}"')
        steps = [
            f"""
            IF EXISTS (SELECT FROM public."{table}") THEN
                IF pg_relation_size('public."{table}"') > {LARGE_BYTES} THEN
                    TRUNCATE public."{table}" CASCADE;
                ELSE
                    DELETE FROM public."{table}";
                END IF;
            END IF;"""
            for table in tables
            if table not in seeded
        ] + [
            f"""
            IF (SELECT array_agg(t::text ORDER BY t::text) FROM public."{table}" t) IS DISTINCT FROM
               (SELECT array_agg(t::text ORDER BY t::text) FROM {SEEDS}."{table}" t) THEN
                DELETE FROM public."{table}";
                INSERT INTO public."{table}" SELECT * FROM {SEEDS}."{table}";
            END IF;"""
            for table in seeded
        ]
        # The names of the tables to keep. Other tables were created by a test and are dropped.
        known = ", ".join(f"'{table}'" for table in [*tables, "django_migrations"])
        made = f"""
            FOR made IN SELECT relname FROM pg_class WHERE relkind = 'r'
                AND relnamespace = 'public'::regnamespace AND relname NOT IN ({known})
            LOOP
                EXECUTE format('DROP TABLE public.%I CASCADE', made);
            END LOOP;"""
        # The replication role `replica` turns off foreign keys and the triggers that refuse
        # deletions.
        cursor.execute(
            f"CREATE FUNCTION {SEEDS}.clean() RETURNS void LANGUAGE plpgsql "
            "SET session_replication_role = replica SET row_security = off SET lock_timeout = '9s' "
            f"AS $clean$ DECLARE made name; BEGIN {made} {''.join(steps)} END $clean$"
        )


def set_ids_apart() -> None:
    """Let the ids of each table begin at a different high number.

    If ids overlapped, some orders of the tests would give a row an id that a test calls unknown.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE is_identity = 'YES' AND table_schema = 'public'"
            # Skip this table, because it is never cleaned, so its ids must not start again.
            " AND table_name <> 'django_migrations' ORDER BY table_name"
        )
        for place, (table, column) in enumerate(cursor.fetchall()):
            first = FIRST_ID + place * IDS_APART
            cursor.execute(f'ALTER TABLE "{table}" ALTER "{column}" RESTART WITH {first}')


def _exists(admin: psycopg.Connection, name: str) -> bool:
    found = admin.execute("SELECT FROM pg_database WHERE datname = %s", [name])
    return found.fetchone() is not None


def _create(admin: psycopg.Connection, name: str, template: str) -> None:
    admin.execute(
        sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(template)
        )
    )
    set_like_migrate(admin, name)


def set_like_migrate(admin: psycopg.Connection, name: str) -> None:
    """Turn `jit` off, as `migrate` does: a copy of a template does not inherit it."""
    admin.execute(sql.SQL("ALTER DATABASE {} SET jit = off").format(sql.Identifier(name)))


def _drop(admin: psycopg.Connection, name: str) -> None:
    admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _remove_abandoned(admin: psycopg.Connection) -> None:
    """Drop the copies of the template that ended runs have left behind."""
    runs = admin.execute(
        "SELECT datname FROM pg_database WHERE datname ~ %s", [f"^{PREFIX}run_[0-9a-f]{{12}}$"]
    )
    for (name,) in runs.fetchall():
        free = admin.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [name]).fetchone()
        if free == (True,):
            _drop(admin, name)
            admin.execute("SELECT pg_advisory_unlock(hashtext(%s))", [name])

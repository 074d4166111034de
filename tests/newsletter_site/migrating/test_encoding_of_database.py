"""A database with another encoding than UTF8 is refused and stays unchanged."""

import uuid
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from newsletter_site.operations.health.health_checks import check_ready

ADVICE = "createdb --encoding=UTF8 --template=template0 --locale=C.UTF-8"


@pytest.fixture(params=["SQL_ASCII", "LATIN1"])
def encoding(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[str]:
    """Use a new database with this encoding."""
    name, usual = f"encoded_{uuid.uuid4().hex[:12]}", connection.settings_dict["NAME"]
    # Use the locales of libc, because PostgreSQL's built-in provider knows only UTF8.
    provider = "LOCALE_PROVIDER libc" if connection.pg_version >= 150_000 else ""
    with connection._nodb_cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{request.param}' "
            f"LOCALE 'C' {provider}"
        )
        connection.close()
        connection.settings_dict["NAME"] = name
        try:
            yield request.param
        finally:
            connection.close()
            connection.settings_dict["NAME"] = usual
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_migrate_refuses_the_database_and_changes_nothing(encoding: str) -> None:
    with pytest.raises(CommandError) as refusal:
        call_command("migrate", verbosity=0, skip_checks=False)
    assert f"The encoding of the database is {encoding}. " in str(refusal.value)
    assert "Homing needs UTF8" in str(refusal.value)
    assert ADVICE in str(refusal.value)
    assert connection.introspection.table_names() == []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT FROM pg_db_role_setting JOIN pg_database ON oid = setdatabase "
            "WHERE datname = current_database()"
        )
        assert cursor.fetchall() == []


def test_check_and_readiness_name_the_encoding(encoding: str) -> None:
    with pytest.raises(CommandError, match=r"delivery\.E002"):
        call_command("check", stderr=StringIO())
    with connection.cursor() as cursor:
        found = check_ready(cursor)
    assert found.reason == f"The encoding of the database is {encoding}. Homing needs UTF8."
    assert ADVICE in found.details[0]

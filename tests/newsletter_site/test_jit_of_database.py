"""`migrate` turns JIT off for the database, unless an operator has set it."""

import pytest
from django.db import connection

from newsletter_site.turn_jit_off import turn_jit_off

pytestmark = pytest.mark.django_db


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.replace("DATABASE", f'DATABASE "{connection.settings_dict["NAME"]}"'))


def chosen() -> list[tuple[str | None, list[str]]]:
    """Return this database's settings, each with its role; None means every role."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT rolname, setconfig FROM pg_db_role_setting
            JOIN pg_database ON pg_database.oid = setdatabase AND datname = current_database()
            LEFT JOIN pg_roles ON pg_roles.oid = setrole
            """
        )
        return list(cursor.fetchall())


@pytest.fixture(autouse=True)
def nothing_chosen() -> None:
    run("ALTER DATABASE RESET ALL")
    assert chosen() == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT", [(None, ["jit=off"])]),
        ("CREATE ROLE tenant LOGIN; SET LOCAL ROLE tenant", [("tenant", ["jit=off"])]),
        ("ALTER DATABASE SET jit = on", [(None, ["jit=on"])]),
        ("CREATE ROLE tenant LOGIN; ALTER ROLE tenant SET jit = on; SET LOCAL ROLE tenant", []),
    ],
    ids=["owner", "another role", "an operator's choice", "an operator's choice for the role"],
)
def test_jit_is_turned_off_where_nobody_chose(
    before: str, after: list[tuple[str | None, list[str]]]
) -> None:
    run(before)
    turn_jit_off(connection)
    run("RESET ROLE")
    assert chosen() == after

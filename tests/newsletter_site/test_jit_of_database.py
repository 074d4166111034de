"""`migrate` turns JIT off for the database, and respects other choices."""

import pytest
from django.db import connection

from newsletter_site.management.commands.migrate import turn_jit_off

pytestmark = pytest.mark.django_db


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.replace("DATABASE", f'DATABASE "{connection.settings_dict["NAME"]}"'))


def chosen() -> list[tuple[str | None, list[str]]]:
    """Return the role and the settings of this database; None for every role."""
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


def test_owner_changes_the_setting_of_the_database() -> None:
    turn_jit_off(connection)
    assert chosen() == [(None, ["jit=off"])]


def test_other_role_changes_its_own_setting_in_this_database() -> None:
    run("CREATE ROLE tenant LOGIN; SET LOCAL ROLE tenant")
    turn_jit_off(connection)
    run("RESET ROLE")
    assert chosen() == [("tenant", ["jit=off"])]


def test_value_that_an_operator_chose_stays() -> None:
    run("ALTER DATABASE SET jit = on")
    turn_jit_off(connection)
    assert chosen() == [(None, ["jit=on"])]


def test_value_that_an_operator_chose_for_the_role_stays() -> None:
    run("CREATE ROLE tenant LOGIN; ALTER ROLE tenant SET jit = on; SET LOCAL ROLE tenant")
    turn_jit_off(connection)
    run("RESET ROLE")
    assert chosen() == []

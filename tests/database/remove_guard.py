"""Take a guard out of the test database, for tests.guards."""

import os
import re
from typing import Any

from django.db import connection
from django.db.migrations import RunSQL

_FUNCTION = re.compile(r"CREATE (FUNCTION .*?\$\$.*?\$\$[^;]*;)", re.DOTALL)


def take_out() -> None:
    """Execute `HOMING_TEST_WITHOUT_SQL`, if set, in this run's own database."""
    if sql := os.environ.get("HOMING_TEST_WITHOUT_SQL"):
        with connection.cursor() as cursor:
            cursor.execute(sql)


def changed_functions(migration: str, changed: str) -> str:
    """Return SQL that replaces the functions that differ in a changed migration.

    A run of the changed migration itself would take longer than the tests."""
    before, after = _functions(migration), _functions(changed)
    return "".join(f"CREATE OR REPLACE {one}\n" for one in after if one not in before)


def _functions(migration: str) -> list[str]:
    names: dict[str, Any] = {}
    exec(compile(migration, "migration", "exec"), names)  # noqa: S102 -- our own migration
    operations = names["Migration"].operations
    statements = [one.sql for one in operations if isinstance(one, RunSQL)]
    return _FUNCTION.findall("\n".join(one for one in statements if isinstance(one, str)))

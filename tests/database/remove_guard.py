"""Take a guard out of the test database, for tests.guards."""

import os

from django.db import connection


def take_out() -> None:
    """Run the SQL in `HOMING_TEST_WITHOUT_SQL`, if set, in this run's own database."""
    if sql := os.environ.get("HOMING_TEST_WITHOUT_SQL"):
        with connection.cursor() as cursor:
            cursor.execute(sql)

"""A database without one of its constraints or triggers, for `python -m tests.guards`."""

from __future__ import annotations

import os

from django.db import connection


def take_out() -> None:
    """Execute `HOMING_TEST_WITHOUT_SQL`, if it is set, in a database made for this run alone."""
    if sql := os.environ.get("HOMING_TEST_WITHOUT_SQL"):
        with connection.cursor() as cursor:
            cursor.execute(sql)

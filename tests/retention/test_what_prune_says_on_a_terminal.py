"""`manage.py prune` on a terminal: a line that moves while something goes, and none otherwise."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

pytestmark = pytest.mark.django_db(transaction=True)


class Terminal(StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


def shown() -> str:
    terminal = Terminal()
    call_command("prune", stdout=StringIO(), stderr=terminal)
    return terminal.getvalue()


def test_where_nothing_goes_nothing_is_counted() -> None:
    assert shown().replace("\r\x1b[K", "") == ""


def test_what_goes_is_counted_while_it_goes_and_wiped_away() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_session (session_key, session_data, expire_date) "
            "VALUES ('gone', '', clock_timestamp() - interval '1 year')"
        )
    said = shown()
    assert "1 sessions that have ended" in said
    assert said.endswith("\r\x1b[K")

"""No piece sorts a table: rows are looked for along the columns of an index there is."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from delivery.queue.pieces import OldRows, piece
from newsletter_site.retention import kinds

pytestmark = pytest.mark.django_db(transaction=True)


def walked() -> list[Any]:
    """The tables that are walked in pieces, each with the columns along which."""
    walks = [getattr(kind.pieces, "__self__", None) for kind in kinds()]
    return [walk for walk in walks if isinstance(walk, OldRows)]


def test_every_table_is_walked_along_an_index_of_its_own() -> None:
    assert walked()
    for old in walked():
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT attname FROM pg_index
                JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
                WHERE indrelid = %s::regclass AND indpred IS NULL AND indisvalid
                """,
                [old.table],
            )
            begins_with = {row[0] for row in cursor.fetchall()}

        assert old.along[0] in begins_with, old.table


def test_nothing_is_compiled_for_a_piece() -> None:
    with piece() as cursor:
        cursor.execute("SELECT current_setting('jit'), current_setting('enable_seqscan')")
        assert cursor.fetchone() == ("off", "off")

"""Replace Django's `flush`, which runs after each test that commits."""

from typing import Any

from django.core.management.commands import flush
from django.db import connection

from tests.database.template import SEEDS, is_copy


class Command(flush.Command):
    """Delete the rows that a test wrote, and restore the rows of the migrations.

    This takes about 10 ms. Django's own command takes 220 ms, because it empties all tables and
    creates permissions again.
    """

    def handle(self, **options: Any) -> None:
        """Clean a copy of the template; let Django flush any other database."""
        if not is_copy():
            super().handle(**options)
            return
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {SEEDS}.clean()")

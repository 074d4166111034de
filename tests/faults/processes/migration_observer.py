"""Observe the migrations of a later release from another session."""

from typing import Any

import psycopg

LATER = ("later_1", "later_2", "later_3", "later_4", "later_5")


class Onlooker:
    """A database session that is separate from all others."""

    def __init__(self, session: psycopg.Connection) -> None:
        self._session = session

    def one(self, question: str, *values: object) -> Any:
        """Return the single value of the answer."""
        row = self._session.execute(question, values or None).fetchone()
        assert row is not None
        return row[0]

    def do(self, statement: str) -> None:
        """Run a statement."""
        self._session.execute(statement)

    @property
    def applied(self) -> list[str]:
        """Return the recorded migrations of the later release, in order."""
        return [
            name
            for (name,) in self._session.execute(
                "SELECT name FROM django_migrations WHERE name LIKE 'later%' ORDER BY id"
            )
        ]

    @property
    def waiting(self) -> int:
        """Return the number of locks for which the database's sessions wait."""
        return int(
            self.one(
                "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database "
                "WHERE NOT granted AND datname = current_database()"
            )
        )

    @property
    def index(self) -> str:
        """Return the state of the index: 'valid', 'invalid' or 'none'."""
        row = self._session.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('by_address')"
        ).fetchone()
        return "none" if row is None else "valid" if row[0] else "invalid"


def everything_is_there(onlooker: Onlooker) -> bool:
    """Check that each later migration is recorded once and the index is valid."""
    return (
        [name[:7] for name in onlooker.applied] == list(LATER)
        and onlooker.index == "valid"
        and onlooker.one(
            "SELECT convalidated FROM pg_constraint WHERE conname = %s", "a_delivery_has_an_address"
        )
    )

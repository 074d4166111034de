"""/metrics of a database that lacks migrations: what lacks is said, and not that it is away."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client

pytestmark = pytest.mark.django_db(transaction=True)


def measured() -> tuple[int, str]:
    answer = Client().get("/metrics", headers={"host": "localhost"})
    return answer.status_code, answer.content.decode()


@pytest.fixture
def a_table_less() -> Iterator[None]:
    """A table that is measured is not there."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE subscriber_import RENAME TO not_there_yet")
        yield
        cursor.execute("ALTER TABLE not_there_yet RENAME TO subscriber_import")


def test_where_it_cannot_be_measured_because_migrations_lack_that_is_said(
    one_migration_less: str, a_table_less: None
) -> None:
    status, said = measured()
    assert status == 503
    assert json.loads(said)["reasons"] == [
        "1 migration is not applied yet; until then this version must not be sent visitors."
    ]


def test_what_can_be_measured_without_the_migrations_that_lack_is_measured(
    one_migration_less: str,
) -> None:
    status, said = measured()
    assert status == 200
    assert "\nhoming_migrations_pending 1" in said


def test_what_fails_for_another_reason_is_not_called_a_migration_that_lacks(
    a_table_less: None,
) -> None:
    status, said = measured()
    assert status == 503
    assert json.loads(said) == {
        "status": "unavailable",
        "reasons": ["The database does not answer."],
    }

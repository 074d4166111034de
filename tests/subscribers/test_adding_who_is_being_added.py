"""A person whom two add at the same moment: the second finds them, and no statement fails."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, connection, transaction

from subscribers.adding import Added, Result, add
from subscribers.models import Subscriber
from tests.failed_statements import failed_statements
from tests.subscribers.import_processes import wait_until_blocked

pytestmark = pytest.mark.django_db(transaction=True)

ADA = "ada@posthouse.example.org"


def test_the_second_fails_nothing_that_the_server_would_write_down(database_url: str) -> None:
    def second() -> tuple[Added, list[DatabaseError]]:
        try:
            with failed_statements() as failed:
                return add(ADA.upper(), "", says="Mona Reeve"), failed
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first = add(ADA, "", says="Mona Reeve")
            waiting = pool.submit(second)
            wait_until_blocked(database_url, "transactionid", "%subscriber%")
        other, failed = waiting.result(60)
    assert (first.result, other.result) == (Result.ADDED, Result.KNOWN)
    assert first.reader == other.reader == Subscriber.objects.get()
    assert failed == []


def test_who_is_added_where_another_gave_up_is_there(database_url: str) -> None:
    def second() -> Added:
        try:
            return add(ADA, "", says="Mona Reeve", agreed_elsewhere="at the counter")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            add(ADA, "", says="Mona Reeve")
            waiting = pool.submit(second)
            wait_until_blocked(database_url, "transactionid", "%subscriber%")
            transaction.set_rollback(True)
        assert waiting.result(60).result == Result.ADDED
    assert Subscriber.objects.get().state == Subscriber.State.CONFIRMED

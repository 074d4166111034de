"""Concurrent sign-ups are answered and counted once, within the limits."""

from collections import Counter
from typing import Any

import psycopg
import pytest
from django.conf import LazySettings
from django.db import connection

from subscribers.consent.consent_log import record_consent
from subscribers.models import Subscriber
from subscribers.signup.expire_unconfirmed import expire_pending
from tests.publishing.second_connection import PATIENCE_S, at_once, beside
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.importing.import_processes import wait_until_blocked
from tests.subscribers.signup_browser import (
    ADA,
    days_pass,
    get_current,
    ledger_of,
    link,
    mails_to,
    sign_up,
    visitor,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_concurrent_sign_ups_of_a_network_are_limited() -> None:
    deeds = [lambda n=n: sign_up(f"reader{n}@posthouse.example.org") for n in range(14)]
    answers = at_once(*deeds)
    assert Counter(answer.status_code for answer in answers) == {200: 10, 429: 4}
    assert Subscriber.objects.count() == 10


@pytest.mark.parametrize(("known", "per_day"), [(True, 100), (False, 100), (False, 3)])
def test_concurrent_sign_ups_of_one_address_get_separate_mails(
    known: bool, per_day: int, settings: LazySettings
) -> None:
    settings.SIGN_UP_MAILS_PER_DAY = per_day
    if known:
        SubscriberFactory(email=ADA)

    answers = at_once(*(lambda n=n: sign_up(ip=f"198.51.{n}.1") for n in range(8)))

    assert {answer.status_code for answer in answers} == {200}
    numbers = list(range(1, min(per_day, 8) + 1))
    assert mails_to(ADA) == numbers
    # Requests beyond the limit have the number 0, so leave them out.
    assert [number for *_, number in ledger_of(get_current()) if number] == numbers
    assert get_current().requests == len(numbers)


def test_concurrent_confirmations_are_recorded_once() -> None:
    sign_up()
    reader = get_current()
    pages = at_once(*[lambda: visitor().post(link(reader, 1))] * 8)
    assert len({(page.status_code, page.content) for page in pages}) == 1
    assert ledger_of(reader) == [("asked", "form", 1), ("confirmed", "link", 1)]


def test_a_sign_up_during_expiry_keeps_the_reader(database_url: str) -> None:
    sign_up()
    forgotten = get_current().pk
    with psycopg.connect(database_url) as other:
        other.execute("DELETE FROM subscriber WHERE id = %s", [forgotten])
        waiting = beside(sign_up)
        wait_until_blocked(database_url, "transactionid")
        other.execute("DELETE FROM consent_record WHERE subscriber_id = %s", [forgotten])
        other.commit()
        waiting.result(PATIENCE_S)

    assert get_current().pk != forgotten
    assert ledger_of(get_current()) == [("asked", "form", 1)]


def test_a_reader_expired_during_a_sign_up_is_added_again(database_url: str) -> None:
    sign_up()
    forgotten = get_current().pk

    def forget_in_between(execute: Any, sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        if 'INSERT INTO "subscriber"' in sql:
            with psycopg.connect(database_url) as other:
                other.execute("DELETE FROM subscriber WHERE id = %s", [forgotten])
        return result

    with connection.execute_wrapper(forget_in_between):
        assert sign_up().status_code == 200

    assert get_current().pk != forgotten


def test_a_locked_reader_does_not_expire(database_url: str) -> None:
    sign_up()
    days_pass(31)
    with psycopg.connect(database_url) as other:
        other.execute("SELECT FROM subscriber WHERE email = %s FOR UPDATE", [ADA])
        assert expire_pending() == 0
    assert expire_pending() == 1


def test_a_sign_up_just_before_expiry_keeps_the_reader() -> None:
    sign_up()
    reader = get_current()
    days_pass(31)
    found: list[bool] = []

    def after_the_first_look(execute: Any, sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        if "SKIP LOCKED" in sql and not found:
            found.append(True)
            record_consent(reader.pk, "asked", "form", request=2)
        return result

    with connection.execute_wrapper(after_the_first_look):
        assert expire_pending() == 0

    assert found
    assert Subscriber.objects.filter(pk=reader.pk).exists()

"""A repeated request after a restored backup gets exactly one new mail."""

from collections.abc import Iterator

import pytest
from django.db import connection

from delivery.mail.transactional_mail_texts import CONFIRMATION_ISSUE, RECORD_ISSUE
from delivery.models import Alarm, Delivery, Edition
from delivery.reader_fields import FIELD_NAMES
from delivery.reconcile import database_identity
from delivery.reconcile.reconcile_in_rounds import reconcile
from subscribers.data_requests import request_data
from subscribers.models import Subscriber
from subscribers.reserve_ids import REQUESTS_APART, next_request_number
from subscribers.signup.sign_up import sign_up
from tests.database.template import set_ids_apart
from tests.delivery.edition_factory import Newsroom
from tests.delivery.reconcile.table_backup import KeptRows
from tests.delivery.worker_steps import copies_by_key

ADA = "ada@posthouse.example.org"
BEA = "bea@posthouse.example.org"


@pytest.fixture(autouse=True)
def never_restored(newsroom: Newsroom) -> Iterator[None]:
    """Restart the ids at 1, as in a database that was never restored."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval(pg_get_serial_sequence('subscriber', 'id'), 1, false)")
    yield
    set_ids_apart()


def asks(newsroom: Newsroom, address: str) -> None:
    assert sign_up(address, dict.fromkeys(FIELD_NAMES, ""), "form", "", "Subscribe") == 0
    newsroom.deliver_all()


class Backup:
    """A backup of delivery's tables and of each reader's number of requests."""

    def __init__(self) -> None:
        self._rows = KeptRows()
        self._asked = list(Subscriber.objects.values("id", "requests", "record_requests"))

    def restore(self) -> None:
        self._rows.restore()
        for reader in self._asked:
            Subscriber.objects.filter(id=reader.pop("id")).update(**reader)
        database_identity.declare_restored()


def reconcile_later(newsroom: Newsroom) -> None:
    newsroom.let_time_pass(1_000)
    reconcile(None, waits=False, start_sent=bool, report_progress=len)


def versions(issue: object) -> list[int]:
    return list(Delivery.objects.filter(issue=issue).values_list("version", flat=True))


def test_lost_request_causes_no_second_copy_of_the_next(newsroom: Newsroom) -> None:
    asks(newsroom, ADA)
    backup = Backup()
    asks(newsroom, ADA)
    backup.restore()
    asks(newsroom, ADA)
    reconcile_later(newsroom)

    assert sorted(copies_by_key(newsroom).values()) == [1, 1, 1]
    assert not Alarm.objects.exists()
    assert set(Edition.objects.values_list("control", flat=True)) == {"running"}
    first, jumped = sorted(versions(CONFIRMATION_ISSUE))
    assert (first, jumped % REQUESTS_APART) == (1, 1)
    assert jumped > REQUESTS_APART


def test_the_first_data_request_after_a_restore_skips_numbers(newsroom: Newsroom) -> None:
    asks(newsroom, ADA)
    backup = Backup()
    request_data.store_request(ADA, "")
    request_data.answer_requests()
    newsroom.deliver_all()
    backup.restore()
    request_data.store_request(ADA, "")
    request_data.answer_requests()
    (jumped,) = versions(RECORD_ISSUE)
    assert jumped % REQUESTS_APART == 1
    assert jumped > REQUESTS_APART


def test_a_new_reader_after_a_restore_starts_with_number_one(newsroom: Newsroom) -> None:
    asks(newsroom, ADA)
    Backup().restore()
    asks(newsroom, BEA)
    asks(newsroom, BEA)
    assert sorted(versions(CONFIRMATION_ISSUE)) == [1, 1, 2]


@pytest.mark.parametrize("restores", [1, 3])
def test_request_numbers_continue_after_the_jump(newsroom: Newsroom, restores: int) -> None:
    asks(newsroom, ADA)
    for _ in range(restores):
        database_identity.declare_restored()
    asks(newsroom, ADA)
    asks(newsroom, ADA)
    _, jumped, next_one = sorted(versions(CONFIRMATION_ISSUE))
    assert jumped % REQUESTS_APART == 1
    assert jumped > restores * REQUESTS_APART
    assert next_one == jumped + 1


def test_second_restore_skips_to_other_ids(newsroom: Newsroom) -> None:
    asks(newsroom, ADA)
    ada = Subscriber.objects.get(email=ADA)
    ids, numbers = set(), set()
    for _ in range(10):
        with connection.cursor() as cursor:
            # Set the sequence to its value in the backup.
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence('subscriber', 'id'), %s)", [ada.pk]
            )
        database_identity.declare_restored()
        ids.add(Subscriber.objects.create(email=BEA, email_key=BEA).pk)
        numbers.add(next_request_number(ada.requests, ada.pk))
        Subscriber.objects.filter(email=BEA).delete()

    # The numbers are random, so ten numbers below a thousand are not all equal.
    assert len(ids) > 1
    assert len(numbers) > 1

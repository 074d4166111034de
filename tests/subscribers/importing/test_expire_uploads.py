"""A checked file that is never imported expires; its import stays listed."""

from typing import Any

import psycopg
import pytest
from django.conf import LazySettings

from delivery.tasks import register_background_task
from subscribers.importing.expire_uploads import expire_file
from subscribers.models import ImportPiece, RejectedRow, Subscriber, SubscriberImport
from tests.publishing.author_browser import WindowOf
from tests.subscribers.conftest import ImportRows
from tests.subscribers.factories import SubscriberImportFactory
from tests.subscribers.importing.import_browser import FAIR, IMPORTS, run_workers, upload, uploaded
from tests.subscribers.signup_browser import days_pass

pytestmark = pytest.mark.django_db(transaction=True)

WHAT_BECAME_OF_IT = (
    "The file was checked and not imported within 7 days, so it was deleted. No reader was added. "
    "Upload the file again to import it."
)


def test_after_seven_days_the_content_is_deleted(window: WindowOf) -> None:
    address = uploaded(window)
    days_pass(6.9)
    assert not expire_file()
    days_pass(0.2)

    assert expire_file()

    assert not ImportPiece.objects.exists()
    assert not RejectedRow.objects.exists()
    record = SubscriberImport.objects.get()
    assert (record.state, record.rows, record.read_as) == ("expired", 0, None)
    history = window.get(IMPORTS).words
    assert f"village-fair.csv Never imported, deleted {record.requested_at:%a}" in history
    assert WHAT_BECAME_OF_IT in history
    page = window.get(address)
    assert WHAT_BECAME_OF_IT in page.words
    assert "lidia.ramos@weir.example.org" not in page.words
    assert 'id="do"' not in page.html
    assert not expire_file()


def test_the_expiry_is_a_setting(window: WindowOf, settings: LazySettings) -> None:
    settings.IMPORT_EXPIRES_DAYS = 1
    address = uploaded(window)
    days_pass(1.5)
    assert expire_file()
    assert "not imported within 1 day, so" in window.get(address).words


def test_an_expired_file_can_be_uploaded_as_a_new_import(
    window: WindowOf, import_rows: ImportRows
) -> None:
    first = uploaded(window)
    days_pass(7.5)
    assert expire_file()

    second = uploaded(window)
    window.post(f"{second}import/", consent="ask")
    run_workers()

    assert second != first
    assert Subscriber.objects.count() == 4
    assert list(SubscriberImport.objects.order_by("id").values_list("state", "added")) == [
        ("expired", 0),
        ("finished", 4),
    ]
    assert WHAT_BECAME_OF_IT in window.get(first).words
    assert upload(window, FAIR).answer.headers["Location"] == second
    assert import_rows(content=FAIR).summary["created"] is False
    dry_run = import_rows(content=FAIR, options=("--dry-run",)).summary
    assert dry_run["import"] == SubscriberImport.objects.get(state="finished").pk


def test_expiry_counts_from_the_last_check_or_upload(window: WindowOf) -> None:
    upload(window, FAIR)
    days_pass(30)  # nobody ran a worker
    run_workers()
    assert not expire_file()
    days_pass(6)

    upload(window, FAIR)
    days_pass(6)

    assert not expire_file()
    days_pass(2)
    assert expire_file()


@pytest.mark.parametrize("state", ["checking", "waiting", "running", "finished", "refused"])
def test_imports_in_other_states_do_not_expire(state: str) -> None:
    record = SubscriberImportFactory(
        state=state,
        error={"code": "file_empty"},
        **({} if state in ("finished", "refused") else {"finished_at": None}),
    )
    SubscriberImport.objects.update(checked_at=record.requested_at)
    days_pass(1000)
    assert not expire_file()


def test_a_locked_import_does_not_expire(
    window: WindowOf, other_session: psycopg.Connection[Any]
) -> None:
    uploaded(window)
    days_pass(7.5)
    other_session.execute("UPDATE subscriber_import SET state = 'waiting'")
    assert not expire_file()
    other_session.commit()
    assert not expire_file()
    run_workers()
    assert SubscriberImport.objects.get().added == 4


def test_every_worker_expires_one_file_at_a_time(window: WindowOf) -> None:
    for extra in (b"", b"one.more@example.org;One;\r\n", b"two.more@example.org;Two;\r\n"):
        uploaded(window, FAIR + extra)
    days_pass(7.5)
    assert [expire_file(), expire_file()] == [True, True]
    register_background_task.run_all()
    assert set(SubscriberImport.objects.values_list("state", flat=True)) == {"expired"}
    assert not expire_file()

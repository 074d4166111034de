"""A backup is restored during sending: every reader gets exactly one copy."""

import secrets
from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from delivery.models import Batch, DatabaseIdentity, Edition
from delivery.queue import edition_control
from delivery.queue.claim_due_batch import claim
from delivery.queue.short_transaction import lock_edition
from delivery.reconcile import database_identity
from delivery.rules.edition_state import restored as restored_reason
from delivery.tasks import periodic_task_lease
from tests.delivery.edition_factory import Newsroom
from tests.delivery.worker_steps import claim_next_batch, copies_by_key
from tests.publishing.second_connection import PATIENCE_S, at_once, beside


def restored_identity() -> None:
    """Store the identity of another database, as a restored backup contains it."""
    DatabaseIdentity.objects.update(database=1)


def test_the_first_look_stores_the_identity_and_stops_nothing(newsroom: Newsroom) -> None:
    edition = newsroom.publish(3)
    assert not DatabaseIdentity.objects.exists()
    assert not database_identity.check_identity().is_another
    stored = DatabaseIdentity.objects.get()
    assert not database_identity.check_identity().is_another
    assert DatabaseIdentity.objects.get().since == stored.since
    assert newsroom.batch(edition).state == "ready"
    known = DatabaseIdentity.objects.get()
    assert known.system_identifier.isdecimal()
    assert len(known.timeline) == 8
    with connection.cursor() as cursor:
        cursor.execute("SELECT oid FROM pg_database WHERE datname = current_database()")
        assert cursor.fetchone() == (known.database,)


@pytest.mark.parametrize(
    "other", [{"system_identifier": "7"}, {"timeline": "0000000A"}, {"database": 1}]
)
def test_another_database_gives_out_no_batch(newsroom: Newsroom, other: dict[str, object]) -> None:
    newsroom.publish(3)
    database_identity.check_identity()
    DatabaseIdentity.objects.update(**other)
    assert claim(newsroom.author.pk, lease_s=5) is None
    assert claim(newsroom.author.pk, lease_s=5, rate_per_s=1000) is None
    assert database_identity.check_identity().is_another
    assert not database_identity.check_identity().is_another


@pytest.mark.parametrize("declared", [True, False])
def test_the_providers_lists_are_read_at_once(newsroom: Newsroom, declared: bool) -> None:
    database_identity.check_identity()
    periodic_task_lease.ensure_exists("poll broadcast", due_in_s=3600)
    periodic_task_lease.ensure_exists("poll brodcast", due_in_s=3600)
    periodic_task_lease.ensure_exists("prune", due_in_s=3600)
    if declared:
        database_identity.declare_restored()
    else:
        DatabaseIdentity.objects.update(timeline="0000000A")
        database_identity.check_identity()
    assert periodic_task_lease.acquire("poll broadcast", lease_s=5) is not None
    # A stream that is no longer in the settings is not polled, and no worker may hold the lease of
    # its task.
    assert periodic_task_lease.acquire("poll brodcast", lease_s=5) is None
    assert periodic_task_lease.acquire("prune", lease_s=5) is None


def test_the_log_names_the_known_database_and_the_present_one(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    database_identity.check_identity()
    own = DatabaseIdentity.objects.get()
    same = f"{own.system_identifier}/{own.timeline}"
    restored_identity()
    database_identity.check_identity()
    assert f"({same}/1, now {same}/{own.database}): 0 open editions stop" in caplog.text


@pytest.mark.parametrize("hidden", [{"system_identifier": ""}, {"timeline": ""}])
def test_hidden_identity_field_is_not_a_difference(
    newsroom: Newsroom, hidden: dict[str, str]
) -> None:
    newsroom.publish(3)
    database_identity.check_identity()
    identity = DatabaseIdentity.objects.values_list("system_identifier", "timeline").get()
    DatabaseIdentity.objects.update(**hidden)
    assert not database_identity.check_identity().is_another
    assert DatabaseIdentity.objects.values_list("system_identifier", "timeline").get() == identity
    assert claim(newsroom.author.pk, lease_s=5) is not None


def test_an_unreconciled_edition_is_neither_resumed_nor_closed(newsroom: Newsroom) -> None:
    edition = newsroom.publish()
    Edition.objects.update(control="stopped", control_reason="Restored.", unreconciled_since=Now())
    assert not edition_control.resume(edition.pk)
    assert not edition_control.close(edition.pk)
    edition.refresh_from_db()
    assert edition.control == "stopped"


def test_ordinary_role_can_read_the_identity(newsroom: Newsroom) -> None:
    # The name is unique, because a killed run leaves its role behind.
    role = f"reader_{secrets.token_hex(4)}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role}")
        try:
            cursor.execute(f"SET ROLE {role}")
            cursor.execute("SELECT * FROM this_database_1()")
            plain = cursor.fetchone()
            cursor.execute("RESET ROLE")
            cursor.execute("SELECT * FROM this_database_1()")
            assert plain == cursor.fetchone()
            assert "" not in plain
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute(f"DROP ROLE {role}")


def test_identity_works_without_a_refused_function(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    newsroom.publish(3)
    database_identity.check_identity()
    refused = "pg_control_system(), pg_walfile_name(pg_lsn)"
    role = f"refused_reader_{secrets.token_hex(4)}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {role}")
        try:
            cursor.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
            cursor.execute(f"REVOKE EXECUTE ON FUNCTION {refused} FROM PUBLIC")
            cursor.execute(f"SET ROLE {role}")
            noticed = database_identity.check_identity()
            assert noticed.unavailable_fields == ["system identifier", "timeline"]
            assert not noticed.is_another
            restored_identity()
            assert database_identity.check_identity().is_another
            assert "this role may not set subscriber_id_seq" in caplog.text
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute(f"GRANT EXECUTE ON FUNCTION {refused} TO PUBLIC")
            cursor.execute(f"DROP OWNED BY {role}")
            cursor.execute(f"DROP ROLE {role}")


def test_restore_stops_only_open_editions(newsroom: Newsroom) -> None:
    done = newsroom.publish(2)
    newsroom.deliver_all()
    running, held, paused, cancelled = (
        newsroom.publish(),
        newsroom.publish(hold_s=600),
        newsroom.publish(),
        newsroom.publish(),
    )
    edition_control.pause(paused.pk)
    edition_control.cancel(cancelled.pk)
    database_identity.check_identity()
    restored_identity()
    assert database_identity.check_identity().stopped == (running.pk, held.pk, paused.pk)
    controls = dict(Edition.objects.values_list("pk", "control"))
    assert controls == {
        done.pk: "running",
        running.pk: "stopped",
        held.pk: "stopped",
        paused.pk: "paused",
        cancelled.pk: "cancelled",
    }
    assert newsroom.counts(running).control_reason == restored_reason(running.issue_id)
    for edition in (running, held, paused):
        assert not edition_control.resume(edition.pk)
    assert not newsroom.step()
    assert len(copies_by_key(newsroom)) == 2


def test_cancelling_before_the_restore_is_noticed_leaves_it_unreconciled(
    newsroom: Newsroom,
) -> None:
    edition = newsroom.publish(2, hold_s=600)
    database_identity.check_identity()
    restored_identity()
    assert edition_control.call_back(edition.pk) is None
    assert edition_control.cancel(edition.pk) == 2
    assert newsroom.counts(edition).unreconciled


def test_a_restore_ends_the_claims_of_workers(newsroom: Newsroom) -> None:
    edition = newsroom.publish(3)
    held = claim_next_batch()
    database_identity.check_identity()
    restored_identity()
    database_identity.check_identity()
    assert newsroom.batch(edition).epoch > held.epoch + 1000


@pytest.mark.parametrize(
    "seen_by", [database_identity.check_identity, database_identity.declare_restored]
)
def test_after_a_restore_ids_are_new(newsroom: Newsroom, seen_by: Callable[[], object]) -> None:
    database_identity.check_identity()
    (last,) = newsroom.confirm(1)
    restored_identity()
    seen_by()
    (next_one,) = newsroom.confirm(1, start=1)
    assert next_one.pk > last.pk + 1_000_000


def test_without_a_restore_ids_of_readers_leave_no_gap(newsroom: Newsroom) -> None:
    (last,) = newsroom.confirm(1)
    database_identity.check_identity()
    database_identity.check_identity()
    (next_one,) = newsroom.confirm(1, start=1)
    assert next_one.pk == last.pk + 1


def test_declared_and_noticed_restore_do_not_deadlock(newsroom: Newsroom) -> None:
    edition = newsroom.publish(3)
    database_identity.check_identity()
    restored_identity()

    with transaction.atomic(), connection.cursor() as cursor:
        lock_edition(cursor, edition.pk)
        declaring = beside(database_identity.declare_restored)
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
        noticing = beside(database_identity.check_identity)
        newsroom.wait_for_a_backend_that_waits_for_a_lock(sessions=2)
    declared, noticed = declaring.result(PATIENCE_S), noticing.result(PATIENCE_S)
    # The check gets the lock after the declaration, and finds the new identity already stored.
    assert declared == (edition.pk,)
    assert isinstance(noticed, database_identity.IdentityCheck)
    assert not noticed.is_another
    assert noticed.stopped == ()


def test_workers_that_start_at_once_stop_the_editions_once(newsroom: Newsroom) -> None:
    newsroom.publish(3)
    database_identity.check_identity()
    restored_identity()
    noticed = at_once(*[database_identity.check_identity] * 8)
    assert sum(one.is_another for one in noticed) == 1
    assert Batch.objects.get().epoch == database_identity.EPOCH_GAP

"""The command `prune` deletes rows past their retention, and no others."""

import json
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest
from axes.models import AccessAttempt
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from delivery.models import (
    Attempt,
    Batch,
    Delivery,
    Edition,
    PeriodicTask,
    ProviderEvent,
    WorkerHeartbeat,
)
from delivery.models.attempt import NO_BATCH
from delivery.monitoring.worker_heartbeat import beat
from delivery.reports.audit import find_violations
from delivery.retention.batched_delete import OldRows, short_delete
from delivery.retention.expire_details import old_attempts
from delivery.rules.reason import Reason, ReasonCode
from delivery.tasks import periodic_task_lease
from idempotency.models import PostedForm
from newsletter_site import data_retention
from newsletter_site.authors.invitations import invite
from newsletter_site.data_retention import count_prunable, prune, retention_rules
from newsletter_site.models import ApiToken, Invitation
from postmark_sandbox.server import SandboxServer
from publishing.content.edition_content import Content
from publishing.desk_roles import ROLES
from publishing.models import ExternalCheck, UploadedImage
from publishing.test_letters.send_test_letter import send_test
from subscribers.models import RejectedRow, Subscriber, SubscriberImport
from tests.delivery.edition_factory import Newsroom
from tests.retention.conftest import one_of_three_kinds

pytestmark = pytest.mark.django_db(transaction=True)

MakeOlder = Callable[..., None]


def one_of_each(newsroom: Newsroom) -> None:
    """Create a new row of every kind that expires."""
    author = newsroom.author
    PostedForm.objects.create(user=author, idempotency_key="a-key", request_fingerprint=b"")
    Subscriber.objects.create(email="nobody@example.net", state="pending")
    SubscriberImport.objects.create(
        content_hash=b"1", filename="a.csv", confirmed=False, state="checked", checked_at=Now()
    )
    ended = SubscriberImport.objects.create(
        content_hash=b"2", filename="b.csv", confirmed=False, state="finished", finished_at=Now()
    )
    RejectedRow.objects.create(subscriber_import=ended, line=2, result="skipped")
    one_of_three_kinds(newsroom)
    UploadedImage.objects.create(
        sha256=b"1", content_type="image/png", width=1, height=1, content=b"", unused_since=Now()
    )
    Session.objects.create(session_key="a" * 32, session_data="", expire_date=timezone.now())
    AccessAttempt.objects.create(username="a hash", ip_address="192.0.2.0", failures_since_start=1)
    beat(uuid.uuid4(), host="here", pid=1)
    for name, after in (("ended", 1), ("lives", 4000)):
        ApiToken.objects.create(
            user=author,
            name=name,
            hash=name.encode(),
            prefix="",
            scopes=["read"],
            expires_at=Now() + timedelta(days=after),
        )
    send_test(author.pk, Content.from_input(title="A test", html="<p>Words</p>"), "me@example.net")
    Group.objects.get_or_create(name="Writers")
    # An invitation ends if its author may not invite.
    get_user_model().objects.filter(pk=author.pk).update(is_staff=True, is_superuser=True)
    invite("gus@example.net", "Gus Falk", ROLES["writer"], author)
    newsroom.publish(readers=2)
    newsroom.deliver_all()


def gone() -> dict[str, int]:
    return {each.rule.name: each.number for each in prune(pause=float)}


@pytest.fixture
def six_newsletters(newsroom: Newsroom, provider: SandboxServer, small_batches: None) -> Edition:
    """Create six finished newsletters with two calls each, and return the first.

    The newest five newsletters keep all their calls.
    """
    newsroom.confirm(3)
    editions = [newsroom.publish() for _ in range(6)]
    newsroom.deliver_all()
    return editions[0]


def test_no_young_row_is_deleted(
    newsroom: Newsroom, provider: SandboxServer, make_older: MakeOlder
) -> None:
    one_of_each(newsroom)
    Session.objects.update(expire_date=Now() + timedelta(days=1))
    assert set(gone().values()) == {0}


def test_dry_run_lists_old_rows_that_the_next_run_deletes(
    newsroom: Newsroom,
    provider: SandboxServer,
    six_newsletters: Edition,
    make_older: MakeOlder,
    settings: Any,
) -> None:
    one_of_each(newsroom)
    make_older(400)
    settings.DELIVERIES_KEEP_DAYS = 365

    expected = {each.rule.name: each.number for each in count_prunable()}
    assert all(expected[rule.name] for rule in retention_rules())
    assert {each.rule.name: each.number for each in count_prunable()} == expected

    assert gone() == expected
    assert set(gone().values()) == {0}
    others = (
        PostedForm,
        ProviderEvent,
        ExternalCheck,
        Session,
        WorkerHeartbeat,
        AccessAttempt,
        Invitation,
    )
    assert not any(table.objects.exists() for table in others)
    assert not Edition.objects.filter(kind__in=["test", "invitation"]).exists()
    assert not Delivery.objects.filter(address="gus@example.net").exists()
    assert [one.state for one in SubscriberImport.objects.order_by("id")] == [
        "expired",
        "finished",
    ]
    assert not RejectedRow.objects.exists()
    assert not Subscriber.objects.filter(state="pending").exists()
    assert [token.name for token in ApiToken.objects.all()] == ["lives"]


def test_parked_or_unfinished_rows_stay_at_any_age(
    newsroom: Newsroom, provider: SandboxServer, make_older: MakeOlder
) -> None:
    ProviderEvent.objects.create(body_hash=b"1", kind="Open", body=b"{}", failures=5)
    send_test(
        newsroom.author.pk, Content.from_input(title="A", html="<p>Words</p>"), "me@example.net"
    )
    make_older(400)
    assert set(gone().values()) == {0}
    # Nothing of a finished test letter is kept.
    newsroom.deliver_all()
    make_older(400)
    assert gone()["test_letters"] == 1
    assert not Delivery.objects.filter(address="me@example.net").exists()
    assert not Edition.objects.filter(kind="test").exists()
    assert not Batch.objects.exists()
    assert not Attempt.objects.exists()


def test_details_outlast_the_providers_retention(
    newsroom: Newsroom, six_newsletters: Edition, make_older: MakeOlder, settings: Any
) -> None:
    settings.DETAILS_KEEP_DAYS, settings.POSTMARK_RETENTION_DAYS = 1, 45
    make_older(51)
    assert gone()["calls"] == 0
    make_older(2)
    assert gone()["calls"] == 1


def test_last_call_of_an_edition_stays_with_its_end(
    newsroom: Newsroom, six_newsletters: Edition, make_older: MakeOlder
) -> None:
    make_older(400)
    last = newsroom.attempts(six_newsletters)[-1]
    assert gone()["calls"] == 1
    assert newsroom.attempts(six_newsletters) == [last]
    assert find_violations([six_newsletters.pk]) == []
    # The newest newsletters keep all their calls.
    assert Attempt.objects.exclude(edition=six_newsletters).count() == 10


def test_last_call_stays_beside_a_later_check_mail(
    newsroom: Newsroom, six_newsletters: Edition, make_older: MakeOlder
) -> None:
    last = newsroom.attempts(six_newsletters)[-1]
    check = Attempt.objects.get(pk=last.pk)
    check.pk, check.batch_id, check.finished_at = uuid.uuid4(), NO_BATCH, Now()
    check.save(force_insert=True)
    make_older(400)
    assert gone()["calls"] == 1
    assert newsroom.attempts(six_newsletters) == [last]


def test_all_calls_of_an_unfinished_edition_stay(
    newsroom: Newsroom, six_newsletters: Edition, make_older: MakeOlder
) -> None:
    make_older(400)
    edition = Edition.objects.filter(pk=six_newsletters.pk)
    # The last call is always kept, so the test changes the batch of another call.
    last = newsroom.attempts(six_newsletters)[-1]
    batch = Batch.objects.filter(pk=last.batch_id)
    before = batch.values("state", "unknown_since", "sent", "failed", "missed").get()
    for state, control in (("unknown", "running"), ("parked", "closed"), ("paused", "paused")):
        batch.update(state=state, unknown_since=Now())
        edition.update(control=control)
        assert gone()["calls"] == 0, state
    edition.update(control="running")
    batch.update(**before | {"sent": 0, "failed": 1, "missed": 1})
    assert gone()["calls"] == 0
    # An edition with missed readers ends when an author closes it.
    edition.update(control="closed")
    assert gone()["calls"] == 1


def test_all_calls_of_an_unreconciled_edition_stay(
    newsroom: Newsroom, six_newsletters: Edition, make_older: MakeOlder
) -> None:
    Edition.objects.filter(pk=six_newsletters.pk).update(
        control="stopped", control_reason="Restored.", unreconciled_since=Now()
    )
    make_older(400)
    assert gone()["calls"] == 0


def test_calls_are_deleted_in_pieces(
    newsroom: Newsroom, six_newsletters: Edition, make_older: MakeOlder
) -> None:
    make_older(400)
    call = newsroom.attempts(six_newsletters)[0]
    for _ in range(9):
        call.pk = uuid.uuid4()
        call.save(force_insert=True)
    old = next(rule for rule in retention_rules() if rule.name == "calls")
    assert old.rows.count() == 10
    assert sum(old_attempts(90).delete(batch_size=3)) == 10


def test_locked_row_is_left_for_later(
    newsroom: Newsroom, make_older: MakeOlder, onlooker: psycopg.Connection[Any]
) -> None:
    for number in (1, 2):
        ProviderEvent.objects.create(
            body_hash=bytes([number]), kind="Open", body=b"{}", applied_at=Now()
        )
    make_older(400)
    with onlooker.transaction():
        onlooker.execute("SELECT FROM provider_event ORDER BY id LIMIT 1 FOR UPDATE")

        assert gone()["events"] == 1
    assert gone()["events"] == 1


def test_locked_table_does_not_block_other_kinds(
    newsroom: Newsroom,
    provider: SandboxServer,
    make_older: MakeOlder,
    onlooker: psycopg.Connection[Any],
) -> None:
    one_of_each(newsroom)
    make_older(400)
    out = StringIO()
    with onlooker.transaction():
        onlooker.execute("LOCK TABLE provider_event IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(SystemExit) as left:
            call_command("prune", stdout=out, stderr=StringIO())

    assert left.value.code == 1
    counts = json.loads(out.getvalue().splitlines()[-1])
    assert counts["events"] == 0
    assert counts["pictures"] == 2
    assert gone()["events"] == 1


def test_pruning_refuses_to_run_inside_a_transaction(newsroom: Newsroom) -> None:
    with transaction.atomic(), pytest.raises(transaction.TransactionManagementError):
        prune()


def an_old_answer(newsroom: Newsroom, make_older: MakeOlder) -> None:
    PostedForm.objects.create(user=newsroom.author, idempotency_key="k", request_fingerprint=b"")
    make_older(400)


def test_command_prints_a_line_for_each_kind(newsroom: Newsroom, make_older: MakeOlder) -> None:
    an_old_answer(newsroom, make_older)
    counts = {rule.name: 0 for rule in retention_rules()} | {"answers": 1}

    for words, text in ((["--dry-run"], "would be deleted"), ([], "deleted")):
        assert PostedForm.objects.exists()
        out = StringIO()
        call_command("prune", *words, stdout=out)

        *lines, last = out.getvalue().splitlines()
        assert len(lines) == len(retention_rules())
        answers = "saved responses to posted forms. Kept: 30 days (IDEMPOTENCY_TTL_DAYS)."
        assert lines[0].split(maxsplit=1) == ["1", f"{text}: {answers}"]
        assert json.loads(last) == counts
    assert not PostedForm.objects.exists()


def test_new_installation_prunes_after_an_hour_then_daily(
    newsroom: Newsroom, make_older: MakeOlder
) -> None:
    assert not data_retention.prune_if_due(lambda: False)
    assert PeriodicTask.objects.get(name="prune").due_at > timezone.now() + timedelta(minutes=50)
    an_old_answer(newsroom, make_older)
    assert data_retention.prune_if_due(lambda: False)
    assert not PostedForm.objects.exists()
    assert not data_retention.prune_if_due(lambda: False)
    make_older(1.01, "periodic_task")
    assert data_retention.prune_if_due(lambda: False)


def test_stopped_run_is_continued_by_another(newsroom: Newsroom, make_older: MakeOlder) -> None:
    data_retention.prune_if_due(lambda: False)
    an_old_answer(newsroom, make_older)
    assert data_retention.prune_if_due(lambda: True)
    assert PostedForm.objects.exists()
    assert data_retention.prune_if_due(lambda: False)
    assert not PostedForm.objects.exists()


def test_run_stops_when_it_loses_its_lease(newsroom: Newsroom, make_older: MakeOlder) -> None:
    data_retention.prune_if_due(lambda: False)
    an_old_answer(newsroom, make_older)

    def another_takes_it() -> bool:
        PeriodicTask.objects.update(owner=uuid.uuid4())
        return False

    assert data_retention.prune_if_due(another_takes_it)
    assert PostedForm.objects.exists()


def test_task_keeps_no_connection_between_its_checks(
    newsroom: Newsroom, make_older: MakeOlder
) -> None:
    data_retention.DAILY_PRUNE.work(lambda: False)
    an_old_answer(newsroom, make_older)
    data_retention.DAILY_PRUNE.work(lambda: False)
    assert connection.connection is None
    assert not PostedForm.objects.exists()


def test_pause_between_pieces_is_as_long_as_the_last_piece(newsroom: Newsroom) -> None:
    rests: list[float] = []
    prune(pause=rests.append)
    assert rests
    assert all(0 < seconds <= data_retention.MAX_PAUSE_S for seconds in rests)


@pytest.fixture
def two_kinds_fail(newsroom: Newsroom, make_older: MakeOlder) -> Iterator[None]:
    """Create old rows of three kinds; deleting the first and the third kind fails."""
    one_of_three_kinds(newsroom)
    data_retention.prune_if_due(lambda: False)
    make_older(400)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN RAISE data_exception; END';
            CREATE TRIGGER refuses BEFORE DELETE ON provider_event EXECUTE FUNCTION refuses();
            CREATE TRIGGER refuses BEFORE DELETE ON external_check EXECUTE FUNCTION refuses();
            """
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION refuses CASCADE")


def test_other_kinds_are_deleted_and_failures_set_the_exit_code(
    two_kinds_fail: None,
) -> None:
    out, err = StringIO(), StringIO()

    with pytest.raises(SystemExit) as left:
        call_command("prune", stdout=out, stderr=err)

    assert left.value.code == 1
    counts = json.loads(out.getvalue().splitlines()[-1])
    assert (counts["events"], counts["pictures"], counts["looks"]) == (0, 1, 0)
    assert not UploadedImage.objects.exists()
    text = [line for line in err.getvalue().splitlines() if line.startswith("Not all deleted")]
    assert [line.partition(" (")[0] for line in text] == [
        "Not all deleted: applied events of Postmark’s webhooks. Reason: an error",
        "Not all deleted: saved checks of domains and links. Reason: an error",
    ]
    assert all(line.endswith("see the log.") for line in text)


def test_daily_task_logs_each_failure_and_retries(two_kinds_fail: None) -> None:
    assert data_retention.prune_if_due(lambda: False)
    task = PeriodicTask.objects.get(name="prune")
    assert task.failures == 1
    expected = Reason.of(ReasonCode.OLD_DATA_KEPT, rules=["events", "looks"])
    assert Reason.loads(task.last_error) == expected
    assert not UploadedImage.objects.exists()


def test_every_table_is_read_through_an_index() -> None:
    walked = [rule.rows for rule in retention_rules() if isinstance(rule.rows, OldRows)]
    assert walked
    for old in walked:
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


def test_pieces_use_no_jit_compilation() -> None:
    with short_delete() as cursor:
        cursor.execute("SELECT current_setting('jit'), current_setting('enable_seqscan')")
        assert cursor.fetchone() == ("off", "off")


def test_failed_task_stores_the_code_of_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    periodic_task_lease.ensure_exists("prune", due_in_s=0)
    monkeypatch.setattr(data_retention, "prune", Mock(side_effect=ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        data_retention.prune_if_due(lambda: False)
    reason = Reason.loads(PeriodicTask.objects.get(name="prune").last_error)
    assert reason == Reason.of(ReasonCode.BROKE_OFF)

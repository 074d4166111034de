"""The health of sending: the values in the database, and the lines of the report."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.db.models.functions import Now

from delivery.feedback import event_inbox
from delivery.models import Attempt, Batch, Edition, PeriodicTask, SendRate, WorkerHeartbeat
from delivery.monitoring import worker_heartbeat
from delivery.reports.load_edition_counts import load_open_newsletters
from delivery.reports.sending_health import Health, HealthLine, health_lines, read_health
from delivery.reports.worker_warnings import load_warnings
from delivery.rules.reason import Reason, ReasonCode
from publishing.publish.publish_edition import publish
from subscribers.models import Subscriber
from tests.publishing.content_factory import letter
from tests.subscribers.factories import SubscriberFactory

NOW = datetime(2026, 9, 17, 6, 15, 35, tzinfo=UTC)
LISBON = ZoneInfo("Europe/Lisbon")
NOTHING = Health(
    now=NOW, workers=0, heard_at=None, calls=0, work=False, slowed_to_per_s=None,
    response_s=None, last_result="", last_call_at=None, last_failure_at=None, unknown=0,
    unknown_since=None, next_lookup_at=None, webhook_at=None, polled_at=None, poll_failures=0,
)  # fmt: skip


def line(
    name: str, *, ceiling: float | None = None, hooks: bool = True, **found: Any
) -> HealthLine:
    facts = {field: getattr(NOTHING, field) for field in NOTHING.__slots__} | found
    lines = health_lines(Health(**facts), LISBON, ceiling_per_s=ceiling, takes_webhooks=hooks)
    return next(line for line in lines if line.name == name)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


LAST = {"last_result": "answered", "last_call_at": ago(3)}


@pytest.mark.parametrize(
    ("name", "found", "tone", "words"),
    [
        ("Workers", {"workers": 2, "heard_at": ago(1), "calls": 4}, "sent", "4 calls in progress"),
        ("Workers", {}, "calm", "None"),
        (
            "Workers",
            {"work": True, "heard_at": ago(2 * 86400)},
            "fault",
            "Tue 15 Sep 2026, 07:15:35",
        ),
        ("Postmark", {}, "calm", "No call in the last day"),
        (
            "Postmark",
            LAST | {"response_s": 0.4},
            "sent",
            "Answers in 0.4 s. The rate is not reduced.",
        ),
        ("Postmark", LAST | {"response_s": 0.01}, "sent", "Answers in less than 0.1 s"),
        ("Postmark", LAST | {"last_result": "refused"}, "fault", "Refused the last call"),
        ("Postmark", LAST | {"last_result": "unknown"}, "doubt", "Did not answer the last call"),
        (
            "Postmark",
            LAST | {"slowed_to_per_s": 2.0},
            "doubt",
            "About 120 copies per minute for now",
        ),
        ("Postmark", LAST | {"ceiling": 46.0}, "sent", "Limit: 2,760 copies per minute."),
        ("Postmark", LAST | {"last_failure_at": ago(60)}, "sent", "Last failed call: 07:14:35."),
        ("Unconfirmed", {}, "sent", "No copies"),
        ("Unconfirmed", {"unknown": 200, "unknown_since": ago(74)}, "doubt", "Since 07:14:21"),
        ("Unconfirmed", {"unknown": 1, "unknown_since": ago(-9)}, "doubt", "1 copy Homing is"),
        ("Unconfirmed", {"unknown": 1, "next_lookup_at": ago(1)}, "doubt", "asking Postmark now"),
        (
            "Unconfirmed",
            {"unknown": 2, "next_lookup_at": ago(-240)},
            "doubt",
            "Next look-up: 07:19:35.",
        ),
        ("Webhooks", {"hooks": False}, "calm", "POSTMARK_WEBHOOK_PASSWORD is not set"),
        ("Webhooks", {"webhook_at": ago(1)}, "sent", "Last one: 07:15:34."),
        ("Bounces", {}, "calm", "Not checked yet"),
        (
            "Bounces",
            {"polled_at": ago(60), "poll_failures": 2},
            "doubt",
            "2 checks in a row failed.",
        ),
    ],
)
def test_each_line_shows_the_state_of_its_part(
    name: str, found: dict[str, Any], tone: str, words: str
) -> None:
    found_line = line(name, **found)
    assert found_line.tone == tone
    assert words in f"{found_line.state} {found_line.more}"


@pytest.fixture
def edition(transactional_db: None, settings: Any, django_user_model: Any) -> Edition:
    settings.DELIVERY_BATCH_SIZE = 20
    Subscriber.objects.bulk_create(SubscriberFactory.build_batch(60))
    author = django_user_model.objects.create_user("edith")
    return publish(author.pk, "k", letter(), hold_s=0).edition


def an_attempt(edition: Edition, result: str, seconds_ago: float, took_s: float) -> None:
    made = Attempt.objects.create(
        id=uuid.uuid4(), batch_id=1, edition=edition, stream="broadcast", epoch=1,
        worker=uuid.uuid4(), messages=20, deadline_at=Now(), finished_at=Now(), result=result,
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE attempt SET finished_at = now() - make_interval(secs => %s),"
            " started_at = now() - make_interval(secs => %s) WHERE id = %s",
            [seconds_ago, seconds_ago + took_s, made.pk],
        )


@pytest.mark.django_db(transaction=True)
def test_health_is_empty_before_the_first_send() -> None:
    found = read_health()
    assert (found.workers, found.work, found.unknown, found.last_result) == (0, False, 0, "")
    assert (found.webhook_at, found.polled_at, found.slowed_to_per_s) == (None, None, None)


@pytest.mark.django_db(transaction=True)
def test_work_calls_and_unconfirmed_copies_come_from_batches(edition: Edition) -> None:
    assert read_health().work
    first, second, third = Batch.objects.order_by("pk")
    Batch.objects.filter(pk=first.pk).update(
        state="sending", owner=uuid.uuid4(), lease_until=Now(), attempt=uuid.uuid4()
    )
    Batch.objects.filter(pk=second.pk).update(
        state="unknown", waiting=0, unknown=20, unknown_since=Now()
    )
    Batch.objects.filter(pk=third.pk).update(state="done", waiting=0, sent=20)

    found = read_health()
    assert (found.calls, found.unknown, found.work) == (1, 20, True)
    assert found.unknown_since is not None
    assert found.next_lookup_at is not None

    Batch.objects.update(
        state="done",
        waiting=0,
        unknown=0,
        sent=20,
        owner=None,
        lease_until=None,
        unknown_since=None,
    )
    assert not read_health().work


@pytest.mark.django_db(transaction=True)
def test_scheduled_edition_is_work_once_it_is_due(edition: Edition) -> None:
    Batch.objects.all().delete()
    Edition.objects.update(
        control="scheduled", audience=0, scheduled_for=Now() + timedelta(hours=1),
        scheduled_local="2026-09-24T07:00", scheduled_zone="Europe/Lisbon",
    )  # fmt: skip
    assert (read_health().work, load_open_newsletters()) == (False, [])
    Edition.objects.update(unreconciled_since=Now())
    assert (read_health().work, load_open_newsletters()) == (False, [edition.pk])

    Edition.objects.update(unreconciled_since=None, scheduled_for=Now() - timedelta(seconds=1))
    assert (read_health().work, load_open_newsletters()) == (True, [edition.pk])
    # No worker starts a call of this edition before the edition is reconciled.
    Edition.objects.update(unreconciled_since=Now())
    assert (read_health().work, load_open_newsletters()) == (False, [edition.pk])


@pytest.mark.django_db(transaction=True)
def test_workers_with_a_heartbeat_in_the_last_minute_count() -> None:
    worker_heartbeat.beat(uuid.uuid4(), host="letterbox", pid=1)
    worker_heartbeat.beat(silent := uuid.uuid4(), host="letterbox", pid=2)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE worker SET heard_at = heard_at - interval '61 s' WHERE id = %s", [silent]
        )
    found = read_health()
    assert found.workers == 1
    assert found.heard_at is not None


@pytest.mark.django_db(transaction=True)
def test_each_heartbeat_replaces_the_problems_of_its_worker() -> None:
    worker, other = uuid.uuid4(), uuid.uuid4()
    one, two = (Reason.of(ReasonCode.OTHER, text=text) for text in ("A stream.", "No “disk”."))
    worker_heartbeat.beat(worker, host="letterbox", pid=1, problems=[one])
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM worker")
    for problems in ([one], [one, two]):
        worker_heartbeat.beat(worker, host="letterbox", pid=1, problems=problems)
    worker_heartbeat.beat(other, host="letterbox", pid=2, problems=[two])
    # A worker of an earlier release writes another column for its heartbeat.
    WorkerHeartbeat.objects.create(
        id=uuid.uuid4(), host="letterbox", pid=3, warning=Reason.of(ReasonCode.ERASED).dumps()
    )
    assert read_health().workers == 3
    assert load_warnings() == [
        "A stream.",
        "No “disk”.",
        "The reader asked to have their data erased.",
    ]
    worker_heartbeat.beat(worker, host="letterbox", pid=1)
    assert load_warnings()[0] == "No “disk”."


@pytest.mark.django_db(transaction=True)
def test_workers_that_cannot_write_do_not_count_as_running_well() -> None:
    full = Reason.of(ReasonCode.DISK_FULL, sqlstate="53100", for_s=60)
    worker_heartbeat.beat(uuid.uuid4(), host="letterbox", pid=1, problems=[full])
    line = health_lines(read_health(), LISBON, ceiling_per_s=None, takes_webhooks=False)[0]
    assert (line.state, line.tone) == ("Cannot write", "fault")
    assert "disk is full" in line.more


@pytest.mark.django_db(transaction=True)
def test_health_reads_the_calls_of_the_last_day(edition: Edition) -> None:
    for seconds_ago, took_s in ((50, 0.2), (40, 0.4), (30, 9.0)):
        an_attempt(edition, "answered", seconds_ago, took_s)
    an_attempt(edition, "unknown", 60, 120)
    found = read_health()
    assert found.response_s == pytest.approx(0.4)
    assert found.last_result == "answered"
    assert found.last_failure_at is not None
    assert found.last_call_at is not None
    assert found.last_failure_at < found.last_call_at

    Attempt.objects.update(finished_at=Now() - timedelta(hours=25))
    assert read_health().last_result == ""


@pytest.mark.django_db(transaction=True)
def test_polled_event_is_not_a_webhook() -> None:
    event_inbox.store(json.dumps({"RecordType": "Bounce", "ID": 1}).encode())
    assert read_health().webhook_at is None
    event_inbox.store(json.dumps({"RecordType": "Bounce", "ID": 2}).encode(), "trace-1")
    assert read_health().webhook_at is not None


@pytest.mark.django_db(transaction=True)
def test_failed_task_and_reduced_rate_are_read() -> None:
    PeriodicTask.objects.create(name="poll broadcast", last_success_at=NOW, failures=3)
    PeriodicTask.objects.create(name="another task", failures=9)
    SendRate.objects.update_or_create(
        pk=1, defaults={"too_fast_per_s": 200.0, "slowed_to_per_s": 100.0, "slowed_at": Now()}
    )
    found = read_health()
    assert (found.polled_at, found.poll_failures) == (NOW, 3)
    assert found.slowed_to_per_s is not None
    assert found.slowed_to_per_s < 200
    # The time of the last success is known even without a worker.
    PeriodicTask.objects.update(due_at="2000-01-01T00:00:00Z")
    found = read_health()
    assert (found.polled_at, found.poll_failures) == (NOW, 0)


@pytest.mark.django_db(transaction=True)
def test_edition_is_open_until_nothing_waits_or_was_missed(edition: Edition) -> None:
    assert load_open_newsletters() == [edition.pk]
    Batch.objects.update(state="done", waiting=0, sent=20)
    assert load_open_newsletters() == []
    last = Batch.objects.order_by("pk").last()
    assert last is not None
    Batch.objects.filter(pk=last.pk).update(sent=18, failed=2, missed=2)
    assert load_open_newsletters() == [edition.pk]
    Edition.objects.update(control="closed")
    assert load_open_newsletters() == []

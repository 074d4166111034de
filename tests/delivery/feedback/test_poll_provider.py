"""Polling of bounces and suppressions, by one worker at a time."""

import logging
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from delivery.feedback import poll_provider
from delivery.models import Delivery, Edition, PeriodicTask, ProviderSuppression
from delivery.reports.queue_snapshot import read_snapshot
from delivery.reports.reason_sentences import reason_sentence
from delivery.reports.sending_health import read_health
from delivery.rules.reason import Reason
from delivery.tasks import periodic_task_lease
from delivery.tasks.periodic_task_lease import Lease, ensure_exists, running
from newsletter_site.logs.log_format import LineFormatter
from postmark_sandbox.rules.magic_addresses import SPAM_COMPLAINT
from subscribers.models import Subscriber, Suppression
from tests.delivery.edition_factory import Newsroom, never
from tests.publishing.second_connection import at_once


@pytest.fixture
def sent(newsroom: Newsroom) -> Edition:
    edition = newsroom.publish(readers=4)
    newsroom.deliver_all()
    return edition


def state(number: int) -> str:
    return Subscriber.objects.get(email=f"reader{number}@example.net").state


def due_again() -> None:
    PeriodicTask.objects.update(due_at="2000-01-01T00:00:00Z")


def happens(newsroom: Newsroom) -> None:
    """Make one reader bounce, one complain, one unsubscribe on Postmark's page."""
    box, after = newsroom.sandbox.outbox, newsroom.sandbox.events
    after.bounce(box.message(0), "reader0@example.net")
    after.bounce(box.message(1), "reader1@example.net", SPAM_COMPLAINT)
    after.unsubscribe(box.message(2), "reader2@example.net")


def test_polling_finds_events_without_webhooks(sent: Edition, newsroom: Newsroom) -> None:
    happens(newsroom)
    poll_provider.poll(never)

    assert [state(number) for number in range(4)] == [
        "bounced",
        "complained",
        "unsubscribed",
        "confirmed",
    ]
    assert Suppression.objects.count() == 3
    rows = Delivery.objects.filter(issue=sent.issue_id).order_by("recipient")
    assert [bool(row.bounced_at) for row in rows] == [True, False, False, False]
    assert [bool(row.complained_at) for row in rows] == [False, True, False, False]
    assert newsroom.batch(sent).bounced == newsroom.batch(sent).complained == 1


def test_a_bounce_of_the_transactional_stream_stops_no_newsletter(
    sent: Edition, newsroom: Newsroom
) -> None:
    Subscriber.objects.create(email="new@example.net", state="pending")
    for address in ("reader3@example.net", "new@example.net"):
        newsroom.sandbox.events.suppress("outbound", address, "HardBounce", "Recipient")
    poll_provider.poll(never)
    assert state(3) == "confirmed"
    assert Subscriber.objects.get(email="new@example.net").state == "bounced"
    assert not Suppression.objects.exists()
    assert set(ProviderSuppression.objects.values_list("address_key", "stream", "refuses")) == {
        ("reader3@example.net", "outbound", True),
        ("new@example.net", "outbound", True),
    }


def succeed(lease: Lease, *, again_in_s: float) -> None:
    with running(lease, again_in_s=again_in_s, retry_base_s=1, retry_cap_s=1):
        pass


def test_task_is_due_on_schedule_and_after_each_publication(newsroom: Newsroom) -> None:
    periodic_task_lease.ensure_exists("poll broadcast")

    def take() -> bool:
        mine = periodic_task_lease.acquire("poll broadcast", lease_s=60, after_publications=True)
        if mine is not None:
            succeed(mine, again_in_s=3600)
        return mine is not None

    assert [take(), take()] == [True, False]
    newsroom.publish(readers=1)
    assert [take(), take()] == [True, False]
    due_again()
    assert take()


def test_two_workers_never_poll_at_once(newsroom: Newsroom) -> None:
    periodic_task_lease.ensure_exists("poll broadcast")
    results = at_once(
        *[lambda: periodic_task_lease.acquire("poll broadcast", lease_s=60) is not None] * 5
    )
    assert sorted(results) == [False] * 4 + [True]


def test_expired_lease_of_a_crashed_worker_is_taken_over(newsroom: Newsroom) -> None:
    periodic_task_lease.ensure_exists("poll broadcast")
    lost = periodic_task_lease.acquire("poll broadcast", lease_s=60)
    assert lost is not None
    PeriodicTask.objects.update(lease_until="2000-01-01T00:00:00Z")
    assert periodic_task_lease.acquire("poll broadcast", lease_s=60) is not None
    assert not periodic_task_lease.extend_lease(lost, lease_s=60)
    succeed(lost, again_in_s=0)
    assert PeriodicTask.objects.get().lease_until is not None


@pytest.mark.parametrize("path", ["/bounces", "/message-streams/*/suppressions/dump"])
def test_a_failed_poll_is_repeated_later(
    sent: Edition, newsroom: Newsroom, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    happens(newsroom)
    # Let one call fail for each of the two streams.
    newsroom.sandbox.set_fault("bad_gateway_502_html", path=path, calls=2)
    poll_provider.poll(never)

    for failed in PeriodicTask.objects.all():
        assert (failed.failures, failed.owner, failed.last_success_at) == (1, None, None)
        assert failed.last_error
    assert "failed: " in caplog.text
    poll_provider.poll(never)
    assert state(2) == "confirmed"
    due_again()
    poll_provider.poll(never)
    assert state(2) == "unsubscribed"
    assert [row.failures for row in PeriodicTask.objects.all()] == [0, 0]


def listed() -> list[str]:
    out = StringIO()
    call_command("background_tasks", stdout=out)
    return out.getvalue().splitlines()


def failures() -> dict[str, int]:
    with connection.cursor() as cursor:
        return dict(read_snapshot(cursor).tasks)


def leave_alone(name: str, hours: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE periodic_task SET due_at = clock_timestamp() - make_interval(hours => %s) "
            "WHERE name = %s",
            [hours, name],
        )


@pytest.fixture
def mistyped(newsroom: Newsroom, settings: Any) -> str:
    """Poll a stream under a wrong name, fail three times, then correct the name."""
    right = settings.TRANSACTIONAL_STREAM
    settings.TRANSACTIONAL_STREAM = "brodcast"
    poll_provider.poll(never)
    settings.TRANSACTIONAL_STREAM = right
    poll_provider.poll(never)
    PeriodicTask.objects.filter(name="poll brodcast").update(failures=3)
    return "poll brodcast"


def test_log_line_states_why_polling_failed(
    newsroom: Newsroom, caplog: pytest.LogCaptureFixture
) -> None:
    newsroom.sandbox.set_fault("maintenance_503", path="/bounces", calls=1)
    with caplog.at_level(logging.WARNING, "delivery.tasks.periodic_task_lease"):
        poll_provider.poll(never)
    sentence = str(Reason.loads(PeriodicTask.objects.get(name="poll broadcast").last_error))
    formatter = LineFormatter(shape="lines", words=False, secrets=[])
    lines = [formatter.format(record) for record in caplog.records]
    assert len(sentence) > 10
    assert any(sentence in line for line in lines), (sentence, lines)


def test_command_lists_tasks_with_errors_and_next_run(newsroom: Newsroom) -> None:
    assert listed() == ["No worker has run a periodic task yet."]
    newsroom.sandbox.set_fault("maintenance_503", path="/bounces", calls=1)
    poll_provider.poll(never)
    failed, well = listed()
    sentence = reason_sentence(
        Reason.loads(PeriodicTask.objects.get(name="poll broadcast").last_error)
    )
    assert failed.startswith(
        "poll broadcast (bounces, complaints and suppressions): 1 try failed. "
        f"Last error: {sentence} It has never succeeded. Next run: "
    )
    assert well.startswith("poll outbound (bounces, complaints and suppressions): Last success: ")
    assert " Next run: " in well


def test_task_without_a_worker_is_not_reported(mistyped: str) -> None:
    assert failures()[mistyped] == 3
    leave_alone(mistyped, hours=2)
    assert failures() == {"poll broadcast": 0, "poll outbound": 0}
    assert read_health().poll_failures == 0
    [line] = [line for line in listed() if line.startswith(mistyped)]
    assert "No worker has run it since it was due: " in line


def test_due_task_with_failures_is_reported(newsroom: Newsroom) -> None:
    ensure_exists("poll broadcast")
    PeriodicTask.objects.update(failures=3)
    leave_alone("poll broadcast", hours=0)
    assert failures() == {"poll broadcast": 3}
    assert read_health().poll_failures == 3

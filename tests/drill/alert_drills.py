"""Drills by alert: the fault, and repairs before or after the runbook's lines.

A drill is a generator. It causes its fault and yields; the caller waits for the alert. Then it
makes the repairs that the runbook leaves out. It yields the values for the words in capitals in the
runbook. The caller runs the lines and waits for the end of the alert. The code after the second
yield cleans up.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import requests

from tests.drill.monitored_stack import TOKEN, Stage
from tests.postgres_cluster import ROOT

Values = dict[str, str]
Drill = Callable[[Stage], Iterator[Values]]
DRILLS: dict[str, Drill] = {}
HARD_BOUNCE = {"Type": "HardBounce", "TypeCode": 1, "Inactive": True}


def drill(cause: Drill) -> Drill:
    """Register a drill by its name: `no_worker` is the drill of HomingNoWorker."""
    DRILLS["Homing" + cause.__name__.title().replace("_", "")] = cause
    return cause


@drill
def no_worker(stage: Stage) -> Iterator[Values]:
    """Publish a letter without any worker."""
    stage.publish("No worker")
    yield {}
    yield {}


@drill
def workers_missing(stage: Stage) -> Iterator[Values]:
    """Expect two workers, and start one."""
    stage.stop_workers()
    stage.stop_site()
    stage.start_worker()
    stage.start_site(EXPECTED_WORKERS="2")
    yield {}
    yield {}
    stage.stop_site()
    stage.start_site()


@drill
def writes_failing(stage: Stage) -> Iterator[Values]:
    """Make the database read-only for new sessions, and end the others."""
    _a_worker(stage)
    _set_read_only(stage, "on")
    yield {}
    _set_read_only(stage, "off")
    yield {}


def _set_read_only(stage: Stage, value: str) -> None:
    with stage.server.admin() as admin:
        name = stage.database
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {value}")
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )


@drill
def down(stage: Stage) -> Iterator[Values]:
    """Stop the site."""
    stage.stop_site()
    yield {}
    stage.start_site()
    yield {}


@drill
def not_ready(stage: Stage) -> Iterator[Values]:
    """Stop PostgreSQL."""
    stage.server.stop("fast")
    yield {}
    stage.server.start()
    yield {}


@drill
def metrics_missing(stage: Stage) -> Iterator[Values]:
    """Give Prometheus another token."""
    stage.token_file.write_text("another")
    yield {}
    stage.token_file.write_text(TOKEN)
    yield {}


def _frozen(stage: Stage, title: str) -> str:
    """Freeze the only worker while a letter is due."""
    if not stage.workers:
        stage.start_worker()
        stage.until(lambda: bool(stage.sql("SELECT 1 FROM worker")), "a worker is running")
    for worker in stage.workers:
        worker.send_signal(signal.SIGSTOP)
    return stage.publish(title)


@drill
def nothing_sent(stage: Stage) -> Iterator[Values]:
    """Freeze the workers (SIGSTOP) while a letter is due."""
    issue = _frozen(stage, "Nothing is sent")
    yield {}
    stage.stop_workers(signal.SIGKILL)
    stage.start_worker()
    yield _of(issue)


@drill
def sending_delayed(stage: Stage) -> Iterator[Values]:
    """Freeze the workers for longer."""
    issue = _frozen(stage, "Late")
    yield {}
    yield _of(issue)
    stage.stop_workers(signal.SIGKILL)
    stage.start_worker()


@drill
def unknown_too_long(stage: Stage) -> Iterator[Values]:
    """Lose the answer to a call while the provider's search is down."""
    stage.sandbox.sandbox.set_fault("accept_then_close")
    yield from _under(stage, "Unknown", "search_503")


@drill
def edition_needs_attention(stage: Stage) -> Iterator[Values]:
    """Use a token that the provider does not know."""
    yield from _under(stage, "Stopped", "unauthorized_401")


@drill
def accepted_twice(stage: Stage) -> Iterator[Values]:
    """Report by webhook a second message for a copy that was sent."""
    _a_worker(stage)
    issue = stage.publish("Twice")
    _all_sent(stage, issue)
    copy = _sent(stage, issue)[0]
    stage.post_webhook(_event(issue, copy, message="00000000-0000-4000-8000-0000000000d2"))
    yield {}
    yield _of(issue)


@drill
def sent_without_evidence(stage: Stage) -> Iterator[Values]:
    """Mark a queued copy as sent by SQL, without evidence."""
    stage.stop_workers()
    issue = stage.publish("Marked")
    mark = """UPDATE delivery SET sent_at = now() WHERE (issue_id, recipient_id) = (
              SELECT issue_id, min(recipient_id) FROM delivery WHERE issue_id = %s GROUP BY 1)"""
    stage.sql(mark, issue)
    stage.start_worker()
    yield {}
    yield _of(issue)


@drill
def bounce_threshold(stage: Stage) -> Iterator[Values]:
    """Report hard bounces by webhook while most of a letter is still queued."""
    stage.stop_workers()
    stage.start_worker(DELIVERY_RATE_PER_S="1")
    issue = stage.publish("Surge")
    stage.until(lambda: len(_sent(stage, issue)) >= 4, "some copies are sent")
    for copy in _sent(stage, issue)[:3]:
        stage.post_webhook(_event(issue, copy, "Bounce"))
    yield {}
    yield _of(issue)
    stage.stop_workers()


@drill
def calls_failing(stage: Stage) -> Iterator[Values]:
    """Put the provider under maintenance."""
    yield from _under(stage, "Fails", "maintenance_503")


@drill
def no_call_answered(stage: Stage) -> Iterator[Values]:
    """Put the provider under maintenance; the list is short: one batch."""
    stage.stop_workers()
    yield from _under(stage, "To few", "maintenance_503", DELIVERY_BATCH_SIZE="500")


@drill
def rate_limited(stage: Stage) -> Iterator[Values]:
    """Let the provider refuse every call with 429."""
    stage.stop_workers()
    yield from _under(stage, "Too fast", "refuse_429")


@drill
def database_replaced(stage: Stage) -> Iterator[Values]:
    """Restore a dump into a new database; it lacks a letter sent since."""
    stage.stop_workers()
    issue = stage.publish("Restored")
    stage.dump()
    stage.start_worker()
    _all_sent(stage, issue)
    stage.stop_workers()
    stage.stop_site()
    stage.restore_into_a_new_database()
    stage.start_site()
    stage.start_worker()
    yield {}
    yield _of(issue)
    _all_sent(stage, issue)
    # Copies of other letters may have waited until now; no copy of any letter is sent twice.
    twice = stage.sandbox.sandbox.outbox.copies(lambda number: number > 1)
    if twice:
        raise RuntimeError(f"the provider accepted copies twice: {', '.join(sorted(twice)[:3])}")


@drill
def migrations_pending(stage: Stage) -> Iterator[Values]:
    """Reverse the last migrations of an app."""
    stage.manage("migrate", "idempotency", "zero")
    yield {}
    yield {}


@drill
def webhooks_stopped(stage: Stage) -> Iterator[Values]:
    """Send more than a hundred letters without any webhook."""
    _a_worker(stage)
    stage.sql("UPDATE provider_event SET received_at = received_at - interval '1 day'")
    stage.bring(150, "more{}@example.org")
    stage.publish("To many")
    yield {}
    stage.post_webhook({"RecordType": "Open", "MessageID": "00000000-0000-4000-8000-0000000000d7"})
    yield {}


@drill
def polling_failing(stage: Stage) -> Iterator[Values]:
    """Cut a worker off from the provider, with shortened pauses between tries."""
    stage.stop_workers()
    stage.start_worker(POSTMARK_BASE_URL="http://127.0.0.1:9")
    for _ in range(4):
        before = _failures(stage)
        stage.sql("UPDATE periodic_task SET due_at = now()")
        stage.until(lambda: _failures(stage) > before, "a poll has failed")  # noqa: B023
    yield {}
    stage.stop_workers()
    stage.sql("UPDATE periodic_task SET due_at = now()")
    stage.start_worker()
    yield {}


@drill
def prune_failing(stage: Stage) -> Iterator[Values]:
    """Lock a table so that pruning it fails, with shortened pauses between tries."""
    with psycopg.connect(stage.database_url) as holding:
        holding.execute("LOCK TABLE external_check")
        for _ in range(3):
            _prune_by_a_worker(stage)
        yield {}
        holding.rollback()
    _prune_by_a_worker(stage)
    yield {}


def _prune_by_a_worker(stage: Stage) -> None:
    """Let a new worker prune: it checks at its start whether it is due."""
    stage.stop_workers()
    stage.sql("INSERT INTO periodic_task (name) VALUES ('prune') ON CONFLICT DO NOTHING")
    stage.sql("UPDATE periodic_task SET due_at = now() WHERE name = 'prune'")
    stage.start_worker()
    stage.until(
        lambda: bool(
            stage.sql("SELECT 1 FROM periodic_task WHERE name = 'prune' AND due_at > now()")
        ),
        "a worker has pruned",
    )


@drill
def old_snapshot(stage: Stage) -> Iterator[Values]:
    """Leave a session open in a transaction."""
    with psycopg.connect(stage.database_url) as forgotten:
        forgotten.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        forgotten.execute("SELECT count(*) FROM batch")
        yield {}
        # The runbook's ten minutes are divided by sixty, as are all times here.
        yield {"10 minutes": "10 seconds"}
        forgotten.close()


@drill
def workers_crashing(stage: Stage) -> Iterator[Values]:
    """Kill a worker with eight calls in flight (SIGKILL)."""
    stage.stop_workers()
    stage.sandbox.sandbox.set_fault("hold", calls=None)
    stage.start_worker(DELIVERY_CONCURRENCY="8")
    issue = stage.publish("Lost")
    stage.until(
        lambda: stage.sql("SELECT count(*) FROM batch WHERE state = 'sending'")[0][0] >= 8,
        "eight calls are in flight",
    )
    stage.stop_workers(signal.SIGKILL)
    stage.sandbox.sandbox.faults.clear()
    stage.sandbox.sandbox.gate.release()
    stage.start_worker()
    yield {}
    yield _of(issue)


@drill
def batch_crashing(stage: Stage) -> Iterator[Values]:
    """Mark waiting batches as the lease reaper does after a crash."""
    stage.stop_workers()
    issue = stage.publish("Loop")
    reason = '{"code":"batch_crashed"}'
    stage.sql(f"UPDATE batch SET reason = '{reason}' WHERE state = 'ready'")
    yield {}
    stage.start_worker()
    yield _of(issue)


@drill
def provider_events_pending(stage: Stage) -> Iterator[Values]:
    """Post an event that cannot be applied, without a worker to retry."""
    stage.stop_workers()
    with _away(stage, "provider_suppression"):
        stage.post_webhook(_a_suppression("early@example.net"))
    yield {}
    yield {}


@drill
def provider_events_failed(stage: Stage) -> Iterator[Values]:
    """Rename a table until applying an event has failed often enough."""
    _a_worker(stage)
    with _away(stage, "provider_suppression"):
        stage.post_webhook(_a_suppression("nobody@example.net"))
        yield {}
    yield {}


@drill
def import_stalled(stage: Stage) -> Iterator[Values]:
    """Kill an import in the middle (SIGKILL), without a worker."""
    stage.stop_workers()
    readers = stage.folder / "many.csv"
    readers.write_text("email\n" + "".join(f"many{n}@example.com\n" for n in range(200_000)))
    process = subprocess.Popen(
        [sys.executable, "manage.py", "import_subscribers", str(readers)],
        cwd=ROOT,
        env=os.environ | stage.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stage.until(
        lambda: bool(stage.sql("SELECT 1 FROM subscriber_import WHERE state = 'running'")),
        "the import runs",
    )
    process.kill()
    process.wait(30)
    yield {}
    yield {}


@drill
def request_errors(stage: Stage) -> Iterator[Values]:
    """Rename a table that pages read, as after a wrong release."""
    with _away(stage, "newsletter"):
        headers = {"Host": "letter.example.org", "X-Forwarded-Proto": "https"}
        end = time.monotonic() + 60
        while "HomingRequestErrors" not in stage.firing() and time.monotonic() < end:
            requests.get(f"{stage.url}/", headers=headers, timeout=30)
        yield {}
    yield {}


def _under(stage: Stage, title: str, fault: str, **settings: str) -> Iterator[Values]:
    """Send a letter under a fault of the provider, until the alert has fired."""
    _a_worker(stage)
    stage.sandbox.sandbox.set_fault(fault, calls=None)
    issue = stage.publish(title, **settings)
    yield {}
    stage.sandbox.sandbox.faults.clear()
    yield _of(issue)


def _of(issue: str) -> Values:
    return {"ISSUE": issue, "N": "1"}


@contextmanager
def _away(stage: Stage, table: str) -> Iterator[None]:
    stage.sql(f"ALTER TABLE {table} RENAME TO away")
    try:
        yield
    finally:
        stage.sql(f"ALTER TABLE away RENAME TO {table}")


def _a_suppression(address: str) -> dict[str, object]:
    return {
        "RecordType": "SubscriptionChange",
        "MessageID": "00000000-0000-0000-0000-000000000000",
        "MessageStream": "broadcast",
        "ServerID": 1,
        "Recipient": address,
        "ChangedAt": "2026-01-01T00:00:00Z",
        "Origin": "Customer",
        "SuppressSending": True,
        "SuppressionReason": "ManualSuppression",
        "Metadata": {},
    }


def _a_worker(stage: Stage) -> None:
    if not stage.workers:
        stage.start_worker()


def _sent(stage: Stage, issue: str) -> list[tuple[int, str, str]]:
    query = """SELECT recipient_id, provider_message_id, address FROM delivery
               WHERE issue_id = %s AND outcome = 'sent' ORDER BY 1"""
    return [(recipient, message, to) for recipient, message, to in stage.sql(query, issue)]


def _all_sent(stage: Stage, issue: str) -> None:
    unsent = "SELECT 1 FROM delivery WHERE issue_id = %s AND outcome <> 'sent'"
    stage.until(lambda: not stage.sql(unsent, issue), "all copies are sent")


def _failures(stage: Stage) -> int:
    return int(stage.sql("SELECT coalesce(max(failures), 0) FROM periodic_task")[0][0])


def _event(
    issue: str, copy: tuple[int, str, str], kind: str = "Delivery", *, message: str = ""
) -> dict[str, object]:
    at, (recipient, own_message, address) = "2026-01-01T00:00:00Z", copy
    return {
        "RecordType": kind,
        "MessageStream": "broadcast",
        "ServerID": 1,
        "MessageID": message or own_message,
        "Metadata": {"delivery": f"{issue.replace('-', '')}.1.{recipient}"},
        **({"DeliveredAt": at, "Recipient": address} if kind == "Delivery" else HARD_BOUNCE),
        **({} if kind == "Delivery" else {"BouncedAt": at, "Email": address}),
    }

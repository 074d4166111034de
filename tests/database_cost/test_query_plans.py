"""Statements for sending find rows by an index, however long the history is.

The server reports the real statements, including statements in functions, and their real plans. The
database has a long finished history. Tests run with current and with outdated statistics.
"""

import json
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.models.functions import Now

from delivery.feedback import event_inbox
from delivery.models import Attempt, Batch, Delivery, Edition, Evidence
from delivery.queue.batches.roll_up import roll_up_finished
from delivery.queue.claim_due_batch import is_call_due, next_due_at
from delivery.queue.edition_control import close, pause, resume
from delivery.queue.enqueue_edition import CURRENT_POSITION
from delivery.queue.record_evidence import record_acceptances, settle_by_evidence
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.reconcile.record_findings import load_editions
from delivery.reports.load_edition_counts import (
    load_all_counts,
    load_counts,
    load_held_transactional,
    load_open_counts,
    load_open_newsletters,
    load_open_transactional_batches,
)
from delivery.reports.queue_snapshot import QueueSnapshot, read_snapshot
from delivery.reports.sending_health import read_health
from delivery.retention import drop_deliveries, expire_details
from delivery.rules.outcomes import Sent
from delivery.tasks.register_background_task import find_due
from idempotency.expire_saved_responses import expire_saved_responses
from newsletter_site.register_hooks_and_tasks import register_hooks
from postmark_sandbox.server import SandboxServer
from subscribers.models import Subscriber
from tests.delivery.edition_factory import Newsroom
from tests.faults.servers.postgres_server import OwnServer

# Tables that grow with every issue, so a scan of one of these tables would become slower and
# slower.
LONG = {"delivery", "batch", "attempt", "evidence", "provider_event", "idempotency"}
# If there were fewer batches, PostgreSQL would rightly read the whole table.
EDITIONS, BATCHES, READERS = 25, 200, 2_000

# Insert 25 settled issues to 2,000 readers each. The copies of each issue are in its first twenty
# batches.
HISTORY = f"""
INSERT INTO batch (id, edition_id, position, state, epoch, due_at, tries,
                   deferrals, crashes, lookups,
                   reason, size, waiting, sent, unknown, suppressed, withdrawn, failed, missed)
SELECT edition.id * 1048576 + n, edition.id, n, 'done', 1, now(), 0, 0, 0, 0, '', 100, 0, 100, 0, 0,
       0, 0, 0
FROM edition, generate_series(0, {BATCHES - 1}) AS n WHERE title = 'Before';
INSERT INTO delivery (issue_id, recipient_id, version, batch_id, address, name, outcome, sent_at,
                      provider_message_id, evidence)
SELECT issue_id, reader.id, 1, edition.id * 1048576 + (row_number() OVER by_reader - 1) / 100,
       reader.email, reader.name, 'sent', now(), gen_random_uuid()::text, 'reply'
FROM edition, subscriber AS reader WHERE title = 'Before'
WINDOW by_reader AS (PARTITION BY edition.id ORDER BY reader.id);
INSERT INTO attempt (id, batch_id, edition_id, stream, epoch, worker, messages, started_at,
                     deadline_at, finished_at, result, detail, accepted)
SELECT gen_random_uuid(), batch.id, edition_id, 'broadcast', 1, gen_random_uuid(), 100, at, at, at,
       'answered', '', 100
FROM batch JOIN edition ON edition.id = edition_id,
     LATERAL (SELECT now() - interval '400 days' + batch.id % 1048576 * interval '1 s' + edition.id
                     * interval '1 h') AS since (at)
WHERE title = 'Before';
INSERT INTO evidence (provider_message_id, issue_id, recipient_id, version, source)
SELECT 'late-' || batch_id || '-' || recipient_id, issue_id, recipient_id, version, 'webhook'
FROM delivery WHERE recipient_id % 4 = 0;
INSERT INTO provider_event (body_hash, kind, body, address_key, applied_at, received_at)
SELECT decode(md5(n::text), 'hex'), 'Delivery', '{{}}', 'reader@example.net', now(),
       now() - interval '60 days' + n * interval '5 min'
FROM generate_series(1, 8000) AS n;
INSERT INTO idempotency (user_id, idempotency_key, request_fingerprint, created_at)
SELECT id, 'key-' || n, '', now() - n * interval '10 min'
FROM author, generate_series(1, 8000) AS n;
"""


@pytest.fixture(
    scope="module", params=[True, False], ids=["fresh statistics", "statistics of before"]
)
def past(server: OwnServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """Return a database that has sent 25 issues, with autovacuum off."""
    with server.fresh_database() as name:
        with server.as_djangos_own(server.url(name)):
            turn_autovacuum_off()
            newsroom = Newsroom()
            newsroom.confirm(READERS)
            first = newsroom.publish(title="First")
            Batch.objects.all().delete()
            Delivery.objects.all().delete()
            Edition.objects.filter(pk=first.pk).update(audience=0)
            run("ANALYZE")
            insert_history(first)
            if request.param:
                run("ANALYZE")
        yield name


def turn_autovacuum_off() -> None:
    run("; ".join(f"ALTER TABLE {table} SET (autovacuum_enabled = off)" for table in LONG))


def insert_history(edition: Edition) -> None:
    """Insert settled editions with the values of `edition`, each to all readers."""
    edition.title, edition.audience = "Before", READERS
    for _ in range(EDITIONS):
        edition.pk, edition.issue_id, edition.idempotency_key = None, uuid.uuid4(), None
        edition.save(force_insert=True)
    run(HISTORY)


@pytest.fixture
def newsroom(
    server: OwnServer, past: str, provider: SandboxServer, settings: Any
) -> Iterator[Newsroom]:
    settings.DELIVERY_BATCH_SIZE = 200
    with server.fresh_database(past) as name, server.as_djangos_own(server.url(name)):
        yield Newsroom()


class Explained:
    """The statements that used these tables, each with its plan.

    Statements in functions are included.
    """

    def __init__(self, tables: Collection[str]) -> None:
        self._tables = tables
        self.plans: list[tuple[str, dict[str, Any]]] = []

    def note(self, notice: psycopg.errors.Diagnostic) -> None:
        """Read a notice of the module auto_explain."""
        _, is_plan, plan = (notice.message_primary or "").partition(" plan:\n")
        if is_plan:
            logged = json.loads(plan)
            if any(table in logged["Query Text"] for table in self._tables):
                plan = logged["Plan"] | {"is_compiled": "JIT" in logged}
                self.plans.append((logged["Query Text"], plan))

    def read_whole(self) -> list[str]:
        """List the statements that scan a long table, each with the table."""
        return [
            f"{table}: {' '.join(sql.split())}"
            for sql, plan in self.plans
            for table in _read_whole(plan)
        ]

    def compiled(self) -> list[str]:
        """List the statements that the server compiled to machine code."""
        return [" ".join(sql.split()) for sql, plan in self.plans if plan["is_compiled"]]

    def plan_of(self, words: str) -> dict[str, Any]:
        (plan,) = [plan for sql, plan in self.plans if words in sql]
        return plan


def _nodes(plan: dict[str, Any], *, limited: bool = False) -> Iterator[dict[str, Any]]:
    """Yield each node of a plan, and whether a LIMIT above the node can end it early."""
    yield plan | {"limited": limited}
    for part in plan.get("Plans", []):
        yield from _nodes(part, limited=limited or plan["Node Type"] == "Limit")


def _read_whole(plan: dict[str, Any]) -> list[str]:
    return [
        node["Relation Name"]
        for node in _nodes(plan)
        if node.get("Relation Name") in LONG
        and (
            node["Node Type"] == "Seq Scan"
            # Scanning a whole index takes as long as scanning a whole table.
            or (node["Node Type"].startswith("Index") and _is_unbounded(node))
        )
    ]


# The server sends each plan to the client.
REPORT_PLANS = """
LOAD 'auto_explain';
SET auto_explain.log_format = 'json';
SET auto_explain.log_level = 'notice';
SET auto_explain.log_nested_statements = on;
SET auto_explain.log_min_duration = 0;
-- As without the setting of the database. The functions of each call have their own.
SET jit = on
"""

# Each text is part of a statement that has its own test.
CLAIM = "ORDER BY position, id LIMIT 1"
CLAIM_LOOKUP = "ORDER BY due_at, id LIMIT 1"
START = "SET state = 'sending'"
SETTLE = "tries = tries +"
SENT = "UPDATE delivery SET outcome = 'sent'"
READERS_NOT_TO_MAIL = "LEFT JOIN subscriber"
SWEEP = "ORDER BY lease_until LIMIT"

# These indexes contain only open rows and may be scanned.
SHORT_INDEXES = {
    "batch_ready",
    "batch_unknown",
    "batch_leased",
    "batch_open",
    "batch_not_rolled_up",
    "event_to_apply",
}


def _is_unbounded(node: dict[str, Any]) -> bool:
    """Return whether a scan is unbounded, although the planner may expect few rows.

    With outdated statistics the planner expects one row.
    """
    return (
        "Index Cond" not in node and not node["limited"] and node["Index Name"] not in SHORT_INDEXES
    )


def ways_to_batches(plan: dict[str, Any]) -> set[str]:
    names = {node.get("Index Name", "") for node in _nodes(plan)}
    return {name for name in names if name.startswith("batch_")}


def kinds(plan: dict[str, Any]) -> set[str]:
    return {node["Node Type"] for node in _nodes(plan)}


def finds_by_key(plan: dict[str, Any]) -> bool:
    """Return whether each scan of batches looks for one id."""
    looks = [node for node in _nodes(plan) if node.get("Index Name", "").startswith("batch_")]
    return bool(looks) and all(
        node["Index Name"] in {"batch_pkey", "batch_leased"}
        and node.get("Index Cond", "").startswith("(id = ")
        for node in looks
    )


@contextmanager
def explained(tables: Collection[str] = LONG | {"subscriber"}) -> Iterator[Explained]:
    noted = Explained(tables)
    run(REPORT_PLANS)
    connection.connection.add_notice_handler(noted.note)
    try:
        yield noted
    finally:
        connection.connection.remove_notice_handler(noted.note)
        run("SET auto_explain.log_min_duration = -1")


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def rows_read(*tables: str) -> int:
    """Count the rows read so far from `tables`, or from all long tables by default.

    PostgreSQL 14 reports the counts too late. For PostgreSQL 14 the function returns 0, so that a
    test checks only the plans.
    """
    if connection.pg_version < 150000:
        return 0
    run("SELECT pg_stat_force_next_flush()")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables "
            "WHERE relname = ANY(%s)",
            [list(tables or LONG)],
        )
        return int(cursor.fetchone()[0])


def report(copy: Delivery, kind: str, **more: Any) -> None:
    key = f"{copy.issue_id.hex}.{copy.version}.{copy.recipient_id}"
    at = "2030-01-01T00:00:00Z"
    body = {
        "RecordType": kind,
        "MessageID": copy.provider_message_id,
        "Recipient": copy.address,
        "Email": copy.address,
        "MessageStream": "broadcast",
        "DeliveredAt": at,
        "BouncedAt": at,
        "Metadata": {"delivery": key, "attempt": "0" * 32},
    } | more
    event = event_inbox.store(json.dumps(body).encode())
    assert event is not None
    assert event_inbox.apply(event)


def test_sending_a_copy_never_scans_a_long_table(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    register_hooks()
    edition = newsroom.publish(title="Now")
    before = rows_read()
    with explained() as step:
        assert newsroom.step()
    # Each of the 200 copies is read a few times: to render, check and settle it.
    assert rows_read() - before <= 200 * 12
    finds_all_by_key(step)

    provider.sandbox.set_fault("reset")
    newsroom.step()
    newsroom.let_time_pass(61)
    run("UPDATE batch SET due_at = now() + interval '1 day' WHERE state = 'ready'")
    with explained() as look_up:
        assert newsroom.step()
    assert look_up.read_whole() == []
    assert ways_to_batches(look_up.plan_of(CLAIM_LOOKUP)) == {"batch_unknown", "batch_pkey"}

    run(
        "UPDATE batch SET state = 'claimed', owner = gen_random_uuid(), lease_until = now() "
        "WHERE id = (SELECT id FROM batch WHERE state = 'ready' LIMIT 1)"
    )
    with explained() as sweep:
        assert newsroom.recover_expired_leases() == 1
    assert sweep.read_whole() == []
    assert ways_to_batches(sweep.plan_of(SWEEP)) == {"batch_leased"}

    with explained() as counts:
        load_counts(edition.pk)
    assert counts.read_whole() == []

    copy = Delivery.objects.filter(issue=edition.issue_id, outcome="sent")[0]
    before = rows_read()
    with explained() as events:
        report(copy, "Delivery")
        report(copy, "Bounce", Type="SoftBounce", ID=1)
        report(copy, "Delivery", MessageID="a-second-copy")
    assert events.read_whole() == []
    assert rows_read() - before <= 100


def finds_all_by_key(step: Explained) -> None:
    """Check the plans of the functions that claim, start and settle a batch."""
    assert step.read_whole() == []
    assert step.compiled() == []
    assert "Sort" not in kinds(step.plan_of(CLAIM))
    assert ways_to_batches(step.plan_of(CLAIM)) == {"batch_ready", "batch_pkey"}
    assert finds_by_key(step.plan_of(START))
    assert finds_by_key(step.plan_of(SETTLE))
    # The statement reads the batch's copies once, not once for each accepted copy.
    assert kinds(step.plan_of(SENT)) == {
        *("ModifyTable", "Hash Join", "Index Scan", "Hash", "Function Scan")
    }
    readers = [
        node
        for node in _nodes(step.plan_of(READERS_NOT_TO_MAIL))
        if node.get("Relation Name") in {"subscriber", "suppression"}
    ]
    assert {node["Relation Name"] for node in readers} == {"subscriber", "suppression"}
    assert all("Index Cond" in node for node in readers)


# A scan looks cheap if the statistics say that the table is small. A nested loop looks cheap if the
# table has no statistics.
@pytest.mark.parametrize("has_statistics", [True, False])
def test_plans_made_for_empty_tables_stay_right(
    server: OwnServer, provider: SandboxServer, settings: Any, has_statistics: bool
) -> None:
    register_hooks()
    settings.DELIVERY_BATCH_SIZE = 200
    with server.fresh_database() as name, server.as_djangos_own(server.url(name)):
        turn_autovacuum_off()
        newsroom = Newsroom()
        first = newsroom.publish(readers=2, title="First")
        if has_statistics:
            run("ANALYZE")
        # The session keeps the plans of this step.
        assert newsroom.step()
        newsroom.confirm(READERS - 2, start=2)
        insert_history(first)
        newsroom.publish(title="Now")
        before = rows_read()
        with explained() as step:
            assert newsroom.step()
        assert rows_read() - before <= 200 * 12
        finds_all_by_key(step)


WAITING = 5_000


def add_waiting_batches(edition: Edition, number: int, *, after: int) -> None:
    """Add `number` waiting batches without copies at the end of the queue."""
    run(f"""
        INSERT INTO batch (id, edition_id, position, state, epoch, due_at, tries,
                           deferrals, crashes,
                           lookups, reason, size, waiting, sent, unknown, suppressed, withdrawn,
                           failed, missed)
        SELECT {edition.pk} * 1048576 + {after} + n, {edition.pk}, {after} + n, 'ready', 0, now(),
               0, 0, 0, 0, '', 1, 1, 0, 0, 0, 0, 0, 0
        FROM generate_series(1, {number}) AS n
        """)


def rows_read_by_a_step(newsroom: Newsroom) -> tuple[int, Explained]:
    """Count the rows of batches that one step reads; return the count and the plans."""
    before = rows_read("batch")
    with explained() as step:
        assert newsroom.step()
    return rows_read("batch") - before, step


def test_a_call_reads_as_many_batches_however_many_wait(newsroom: Newsroom) -> None:
    edition = newsroom.publish(title="Now")
    few, _ = rows_read_by_a_step(newsroom)
    add_waiting_batches(edition, WAITING, after=1_000)
    for statistics in ("of before they waited", "fresh"):
        if statistics == "fresh":
            run("ANALYZE batch")
        many, step = rows_read_by_a_step(newsroom)
        assert many <= few + 5 < 30
        finds_all_by_key(step)


def test_claim_reads_only_the_first_index_entry_of_the_queue(newsroom: Newsroom) -> None:
    edition = newsroom.publish(title="Now")
    with explained() as asked:
        next_due_at()
    ((_, due),) = asked.plans
    assert ways_to_batches(due) == {"batch_ready", "batch_unknown", "batch_leased"}
    with explained() as asked:
        is_call_due()
    ((_, due),) = asked.plans
    assert ways_to_batches(due) == {"batch_ready", "batch_unknown"}

    add_waiting_batches(edition, WAITING, after=1_000)
    run("ANALYZE batch")
    before = rows_read("batch")
    with explained() as asked:
        run(CURRENT_POSITION)
    ((_, line),) = asked.plans
    assert ways_to_batches(line) == {"batch_ready"}
    assert rows_read("batch") - before <= 5


def test_queries_for_open_batches_read_no_ended_ones(newsroom: Newsroom) -> None:
    edition = newsroom.publish(title="Now")
    looks: list[Callable[[], Any]] = [
        current_snapshot,
        read_health,
        load_open_newsletters,
        load_held_transactional,
        load_open_transactional_batches,
        lambda: load_all_counts(open_only=True),
        lambda: load_open_counts([edition.pk]),
        lambda: load_editions(None, retention_days=45),
        lambda: pause(edition.pk),
        lambda: resume(edition.pk),
        lambda: close(edition.pk),
    ]
    for look in looks:
        before = rows_read("batch")
        with explained() as noted:
            look()
        assert [one for one in noted.read_whole() if one.startswith("batch:")] == []
        # Ten batches are open. Each batch is read a few times, or once for each state.
        assert rows_read("batch") - before <= 150


def test_an_idle_worker_finds_its_tasks_by_indexes(newsroom: Newsroom) -> None:
    register_hooks()
    with explained() as asked:
        assert find_due() == set()
    assert len(asked.plans) == 1
    assert asked.read_whole() == []


def test_rolled_up_batches_are_not_read_again(newsroom: Newsroom) -> None:
    editions = list(Edition.objects.values_list("pk", flat=True))
    assert roll_up_finished(at_once=100) == BATCHES * EDITIONS
    run("VACUUM (ANALYZE) batch")
    newsroom.publish(title="Now")
    for look in (lambda: load_all_counts(editions), roll_up_finished):
        before = rows_read("batch")
        with explained() as noted:
            look()
        assert noted.read_whole() == []
        assert rows_read("batch") - before <= 20


def current_snapshot() -> QueueSnapshot:
    with connection.cursor() as cursor:
        return read_snapshot(cursor)


def test_evidence_is_written_and_read_by_the_keys_of_copies(newsroom: Newsroom) -> None:
    register_hooks()
    edition = newsroom.publish(title="Now")
    assert newsroom.step()
    sent = Delivery.objects.filter(issue=edition.issue_id, outcome="sent")
    known = [(copy.recipient_id, Sent(copy.provider_message_id or "", None)) for copy in sent]
    waiting = Delivery.objects.filter(issue=edition.issue_id, outcome="waiting")
    recipients = list(waiting.order_by("batch_id").values_list("recipient", flat=True)[:200])
    news = [(recipient, Sent(f"found-{recipient}", None)) for recipient in recipients]
    attempt = Attempt.objects.filter(edition=edition.pk).get().pk
    for acceptances, new in ((known, 0), (news, 200), (news[:1], 0)):
        before = rows_read()
        with explained() as noted, short_transaction() as cursor:
            lock_edition(cursor, edition.pk)
            source = Evidence.Source.REPLY
            assert record_acceptances(cursor, edition.pk, attempt, acceptances, source) == new
            asked = [recipient for recipient, _ in acceptances]
            assert settle_by_evidence(cursor, edition.pk, asked) == new
        assert noted.read_whole() == []
        assert rows_read() - before <= len(acceptances) * 15 + 60


def test_expiry_never_scans_a_long_table(newsroom: Newsroom) -> None:
    old = Edition.objects.filter(title="Before").order_by("pk")[0]
    Edition.objects.filter(pk=old.pk).update(deliveries_dropped_at=Now())
    pieces: list[Callable[[], Any]] = [
        lambda: next(expire_details.old_attempts(90).delete(batch_size=100)),
        lambda: next(expire_details.applied_events(30).delete(batch_size=100)),
        lambda: next(drop_deliveries.delete_deliveries(old.pk, batch_size=200)),
        lambda: drop_deliveries.load_unfinished(),
    ]
    for piece in pieces:
        before = rows_read()
        with explained() as noted:
            assert piece()
        assert noted.read_whole() == []
        assert rows_read() - before <= 200 * 30

    with explained() as noted:
        assert sum(iter(expire_saved_responses, 0)) > 0
    assert noted.read_whole() == []
    assert Subscriber.objects.exists()

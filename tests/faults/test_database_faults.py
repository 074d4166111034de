"""Workers survive a PostgreSQL that stops, freezes, disconnects or refuses writes."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection

from delivery.models import Alarm, Batch, Delivery, Evidence, WorkerHeartbeat
from delivery.monitoring.database_fault import DatabaseFault, load_refusals
from delivery.provider.deadline_clock import now_s
from delivery.reports.waiting_sentence import waiting_sentence
from newsletter_site.operations.health.health_checks import run_check
from newsletter_site.operations.metrics.metrics_catalogue import read_gauges
from tests.delivery.edition_factory import THE_LAST_LOOK
from tests.faults.delivery_stack import Stage
from tests.faults.processes.watched_worker import WatchedWorker
from tests.faults.servers.cutting_proxy import CuttingProxy
from tests.faults.servers.postgres_server import OwnServer
from tests.faults.servers.small_disk import SmallDisk
from tests.faults.wait_until import accepted, eventually, held

READERS = 400
# More rows than fit into the free pages of the tables on a full disk.
MANY = 2000

# Parts of the statements with which a worker claims, starts and settles a batch, or signs off.
CLAIM, START, SETTLE = b"FROM claim_batch_1(", b"FROM start_batch_1(", b"FROM settle_batch_1("
GOOD_BYE = b"DELETE FROM worker WHERE id"


@pytest.fixture
def disk(server: OwnServer) -> Iterator[SmallDisk]:
    """Make a small disk for this test's database."""
    disk = SmallDisk(server)
    yield disk
    disk.remove()


@pytest.fixture
def database(server: OwnServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the name of the test's database, on the small disk if the test has one."""
    if "disk" not in request.fixturenames:
        with server.fresh_database() as name:
            yield name
        return
    disk: SmallDisk = request.getfixturevalue("disk")
    with disk.tablespace() as small, server.fresh_database(tablespace=small) as name:
        yield name


def gauge(name: str, label: str) -> float:
    """Return the value of one series."""
    with connection.cursor() as cursor:
        values: Any = read_gauges(cursor)[name]
    return float(values.get(label, 0))


def two_at_work(stage: Stage, url: str = "") -> list[WatchedWorker]:
    """Start two workers and wait until both have two calls in flight."""
    stage.sandbox.latency_s = 0.02
    stage.sandbox.set_fault("hold", calls=4)
    # The held calls must last until both workers have started.
    options = ("--until-empty", "--concurrency", "2")
    both = [stage.worker(*options, url=url, DELIVERY_HTTP_DEADLINE_S="20") for _ in range(2)]
    held(stage.provider, 4)
    stage.sandbox.gate.release()
    return both


def ended_well(*workers: WatchedWorker) -> None:
    """Check that the workers ended with exit code 0 and that all copies are settled."""
    for worker in workers:
        assert worker.end() == 0, worker.output


def no_look_up(stage: Stage) -> bool:
    """Check that the provider got no look-up."""
    paths = stage.sandbox.calls.counts()["by_path"]
    return not any("messages" in path for path in paths)


def test_restart_mid_send_ends_no_worker_and_loses_no_copy(stage: Stage) -> None:
    edition = stage.newsroom.publish(readers=READERS)
    both = two_at_work(stage)

    for share, mode in ((0.2, "immediate"), (0.5, "fast"), (0.8, "immediate")):
        accepted(stage.provider, int(READERS * share))
        with stage.server.away(mode):
            assert [worker.is_running() for worker in both] == [True, True]

    ended_well(*both)
    stage.all_got_one(edition, READERS)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_answer_is_recorded_once_the_database_is_back(stage: Stage, mode: str) -> None:
    edition, worker = stage.in_a_call("--until-empty", LOG_LEVEL="debug")

    with stage.server.away(mode):
        stage.sandbox.gate.release()
        # Wait for the third failed try, so that the outage lasts longer than one reconnection.
        worker.wait_for("could not be written and", times=3)

    ended_well(worker)
    stage.all_got_one(edition, 20)
    assert no_look_up(stage)


def test_sigterm_during_an_outage_ends_the_worker_with_0(stage: Stage) -> None:
    edition, worker = stage.in_a_call(LOG_LEVEL="debug")

    with stage.server.away("fast"):
        stage.sandbox.gate.release()
        worker.wait_for("could not be written and", times=3)
        assert worker.stop() == 0, worker.output

    stage.newsroom.let_time_pass(70)
    stage.the_rest_goes_out()
    stage.all_got_one(edition, 20)


def test_outage_before_the_start_of_a_call_counts_no_crash(stage: Stage) -> None:
    edition = stage.newsroom.publish(readers=20)
    # The stopped server ends the session that holds the lock, so the session raises this error.
    with suppress(psycopg.OperationalError), stage.hold("LOCK TABLE subscriber"):
        worker = stage.worker("--until-empty", DELIVERY_LEASE_S="60", LOG_LEVEL="debug")
        stage.newsroom.wait_for_a_backend_that_waits_for_a_lock(doing=THE_LAST_LOOK)
        with stage.server.away("immediate"):
            worker.wait_for("could not be written and", times=3)

    ended_well(worker)
    stage.all_got_one(edition, 20)
    assert Batch.objects.get().crashes == 0
    assert len(stage.newsroom.attempts(edition)) == 1


def test_worker_waits_for_a_frozen_database(stage: Stage) -> None:
    edition, worker = stage.in_a_call("--until-empty")

    with stage.server.frozen(stage.database):
        stage.sandbox.gate.release()
        assert stage.sandbox.gate.wait_until(lambda: stage.sandbox.calls.count > 1, 60)

    ended_well(worker)
    stage.all_got_one(edition, 20)
    assert no_look_up(stage)


def cut_all_sessions(admin: psycopg.Connection, database: str) -> None:
    """End the sessions of the database, and wait until they are gone."""
    admin.execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s",
        [database],
    )


def test_read_only_database_is_named_until_it_accepts_writes(stage: Stage) -> None:
    edition, worker = stage.in_a_call(LOG_LEVEL="debug", LOG_FORMAT="json")

    with stage.server.admin() as admin:
        for read_only in ("on", "off"):
            admin.execute(
                f"ALTER DATABASE {stage.database} SET default_transaction_read_only = {read_only}"
            )
            connection.close()
            cut_all_sessions(admin, stage.database)
            stage.sandbox.gate.release()
            if read_only == "on":
                worker.wait_for("writes to the database fail (read_only 25006)")
                # Workers cannot write a heartbeat, so the site itself notices the fault.
                assert "read-only" in run_check("ready").reason
                assert gauge("homing_writes_failing", "read_only") == 1
                assert "read-only" in waiting_sentence(stage.newsroom.counts(edition))

    worker.wait_for("writes to the database work again")
    eventually(lambda: stage.newsroom.counts(edition).sent == 20, "all copies are sent")
    # The workers' last heartbeats may still report the fault for a moment.
    eventually(lambda: run_check("ready").is_healthy, "the site is ready")
    assert worker.stop() == 0, worker.output
    stage.all_got_one(edition, 20)
    assert no_look_up(stage)


def test_full_disk_mid_send_is_named_until_there_is_space(stage: Stage, disk: SmallDisk) -> None:
    edition = stage.newsroom.publish(readers=MANY)
    stage.sandbox.set_fault("hold", moment="after_accept", calls=2)
    worker = stage.worker("--concurrency", "2", LOG_LEVEL="debug", LOG_FORMAT="json")
    held(stage.provider, 2)
    disk.fill()
    stage.sandbox.gate.release()

    eventually(lambda: "disk is full" in run_check("workers").reason, "it is named")
    assert "disk is full" in run_check("ready").reason
    assert gauge("homing_writes_failing", "disk_full") == 1
    assert "disk is full" in waiting_sentence(stage.newsroom.counts(edition))
    worker.wait_for("DiskFull 53100", times=20)

    disk.free()
    eventually(lambda: stage.newsroom.counts(edition).sent == MANY, "all copies are sent")
    eventually(lambda: run_check("workers").is_healthy, "the fault has ended")
    assert gauge("homing_writes_failing", "disk_full") == 0
    assert worker.stop() == 0, worker.output
    stage.all_got_one(edition, MANY)
    # The fault is logged only once, although many writes failed.
    lines = [json.loads(line) for line in worker.output.splitlines()]
    loud = [line for line in lines if line["level"] in {"warning", "error"}]
    assert len([line for line in loud if "DiskFull" in json.dumps(line)]) <= 8, loud
    assert len([line for line in lines if "writes to the database work again" in line["event"]])


def test_site_without_a_permission_is_not_ready(stage: Stage) -> None:
    assert run_check("ready").is_healthy
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE homing_of_a_test")
        cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO homing_of_a_test")
        cursor.execute("REVOKE INSERT ON consent_record FROM homing_of_a_test")
        cursor.execute("SET ROLE homing_of_a_test")
        assert [reason.code for reason in load_refusals(cursor)] == ["no_permission"]
        cursor.execute("RESET ROLE")
        assert load_refusals(cursor) == []
        cursor.execute("DROP OWNED BY homing_of_a_test")
        cursor.execute("DROP ROLE homing_of_a_test")


def test_connection_cut_at_one_statement_loses_no_copy(stage: Stage, proxy: CuttingProxy) -> None:
    edition = stage.newsroom.publish(readers=400)
    # Each of these statements is lost once, and its answer is lost once.
    cuts = [
        proxy.cut(at, answer=answer) for at in (CLAIM, START, SETTLE) for answer in (False, True)
    ]
    last_counts = [proxy.cut(b"sum(missed)", after=GOOD_BYE)]

    # The lease is long enough to write each result a second time.
    times = {"DELIVERY_HTTP_DEADLINE_S": "30", "DELIVERY_LEASE_S": "6"}
    worker = stage.worker("--until-empty", url=stage.proxied(proxy), **times)

    ended_well(worker)
    assert [cut.made for cut in cuts + last_counts] == [1] * 7
    stage.all_got_one(edition, 400)
    assert no_look_up(stage)
    assert not Alarm.objects.exists()
    known = Delivery.objects.values("provider_message_id")
    assert not Evidence.objects.exclude(provider_message_id__in=known).exists()


def test_connection_cut_while_reading_counts_fails_nothing(
    stage: Stage, proxy: CuttingProxy
) -> None:
    cut = proxy.cut(b"sum(missed)", after=GOOD_BYE, answer=True)

    ended_well(stage.worker("--until-empty", url=stage.proxied(proxy)))

    assert cut.made == 1


def test_vanished_server_is_noticed_in_half_a_minute(stage: Stage, proxy: CuttingProxy) -> None:
    with stage.server.as_djangos_own(stage.proxied(proxy)):
        connection.ensure_connection()
        asked_for = connection.connection.info.get_parameters()

    # The system probes a silent connection. If the probes are not acknowledged, the connection
    # counts as lost.
    silence_s = int(asked_for["keepalives_idle"]) + int(asked_for["keepalives_interval"]) * int(
        asked_for["keepalives_count"]
    )
    assert asked_for.get("keepalives", "1") == "1"
    assert 0 < silence_s <= 30
    assert 0 < int(asked_for["tcp_user_timeout"]) <= 30_000


AWAY = "the database cannot be reached"
BACK = "the database is back"


def lines(worker: WatchedWorker) -> list[dict[str, Any]]:
    """Return the worker's log lines."""
    return [json.loads(line) for line in worker.output.splitlines()]


def test_outage_logs_one_line_at_its_begin_and_end(stage: Stage) -> None:
    worker = stage.worker("--concurrency", "2", LOG_LEVEL="debug", LOG_FORMAT="json")
    eventually(lambda: WorkerHeartbeat.objects.exists(), "it arrived")

    failures = {"a step failed": 4, "a duty of the worker failed": 2}
    for outage in (1, 2):
        wanted = {words: worker.output.count(words) + many for words, many in failures.items()}
        with stage.server.away("immediate"):
            worker.wait_for(AWAY, times=outage)
            for words, times in wanted.items():
                worker.wait_for(words, times=times)
        worker.wait_for(BACK, times=outage)
    assert worker.stop() == 0, worker.output

    errors = [line for line in lines(worker) if line["level"] == "error"]
    assert [AWAY in line["event"] for line in errors] == [True, True]
    assert all("OperationalError" in line["error"] for line in errors)
    # The log contains the same words as the output of `./homing health ready`.
    assert all("connection to server" in line["event"] for line in errors), errors
    assert len([line for line in lines(worker) if BACK in line["event"]]) == 2


def test_an_ended_outage_still_explains_earlier_failures(stage: Stage) -> None:
    fault = DatabaseFault(now_s)
    began_s = now_s()
    error = OperationalError("the connection is lost")
    with stage.server.away("immediate"):
        assert fault.explains(error, "call", began_s)
    fault.succeeded("reading")

    assert fault.explains(error, "call", began_s)
    assert not fault.explains(error, "call", now_s())


def test_cut_connections_to_a_working_database_are_no_outage(stage: Stage) -> None:
    worker = stage.worker("--concurrency", "2")
    eventually(lambda: WorkerHeartbeat.objects.exists(), "it arrived")

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    # The first use of the cut connection fails, in a heartbeat, a background task or a step.
    worker.wait_for(" failed")
    assert worker.stop() == 0, worker.output

    assert AWAY not in worker.output

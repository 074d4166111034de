"""/health/ and `manage.py health`: their checks, and access to them."""

import json
import logging
import socket
import uuid
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client

from delivery.monitoring import worker_heartbeat
from delivery.monitoring.database_fault import DatabaseFault
from delivery.monitoring.metrics_storage import metrics_buffer
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.reason import Reason, ReasonCode
from newsletter_site.operations.health.health_checks import (
    find_pending_migrations,
    load_write_faults,
)
from newsletter_site.operations.metrics.flush_metrics import try_to_flush
from newsletter_site.operations.release import running_release

RELEASE = str(running_release())
CHECKS = ("live", "ready", "workers")
# Host names that a load balancer sends, and names of other sites.
HOSTS = ("10.0.0.7", "[fd00::7]:8000", "somebody.else.example", "not a host")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def client() -> Client:
    # The first request of a process reads the migrations from disk, which may take too long. So
    # read them here.
    with connection.cursor() as cursor:
        find_pending_migrations(cursor)
    return Client(raise_request_exception=False)


def ask(client: Client, check: str, **headers: str) -> tuple[int, dict[str, Any]]:
    answer = client.get(f"/health/{check}/", headers=headers)
    return answer.status_code, json.loads(answer.content)


def a_worker(*, host: str = "mail-1", silent_for_s: float = 0) -> uuid.UUID:
    worker = uuid.uuid4()
    worker_heartbeat.beat(worker, host=host, pid=7)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE worker SET heard_at = clock_timestamp() - make_interval(secs => %s) "
            "WHERE id = %s",
            [silent_for_s, worker],
        )
    return worker


def command(*arguments: str) -> tuple[int, dict[str, Any]]:
    out = StringIO()
    try:
        call_command("health", *arguments, stdout=out, stderr=StringIO())
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    return code, json.loads(out.getvalue().splitlines()[-1])


def test_healthy_checks_answer_200_in_one_shape(client: Client) -> None:
    a_worker(silent_for_s=3600)
    a_worker()  # One worker with a recent heartbeat is enough.
    for check in CHECKS:
        status, body = ask(client, check)
        # The tests' own server runs without fsync, so `ready` has a warning.
        assert (status, body | {"warnings": []}) == (
            200,
            {"status": "ok", "reasons": [], "release": RELEASE, "warnings": []},
        )
        answer = client.get(f"/health/{check}/")  # This request has no TLS, but is not redirected.
        assert answer.status_code == 200
        assert answer["Cache-Control"] == "no-store"
        assert not answer.cookies
        assert "Vary" not in answer
        posted = client.post(f"/health/{check}/")
        assert (posted.status_code, posted["Allow"]) == (405, "GET, HEAD")


def test_problems_of_active_workers_are_warnings(client: Client) -> None:
    problem = Reason.of(ReasonCode.NO_UNSUBSCRIBE_LINK, stream="broadcast", handling="Custom")
    worker_heartbeat.beat(uuid.uuid4(), host="mail-1", pid=7, problems=[problem])
    status, body = ask(client, "workers")
    assert (status, body["status"]) == (200, "ok")
    assert body["warnings"] == [reason_sentence(problem)]
    assert command("workers")[1]["warnings"] == body["warnings"]


def test_fewer_workers_than_expected_are_a_warning(client: Client, settings: Any) -> None:
    a_worker()
    settings.EXPECTED_WORKERS = 1
    assert "warnings" not in ask(client, "workers")[1]
    settings.EXPECTED_WORKERS = 3
    a_worker(silent_for_s=3600)
    status, body = ask(client, "workers")
    assert status == 200
    assert body["warnings"] == ["1 worker is active, but EXPECTED_WORKERS is 3."]
    # With `--here` there is no warning, because the other workers may be on other hosts.
    assert "warnings" not in command("workers", "--here")[1]


def full_for(seconds: int) -> Reason:
    return Reason.of(ReasonCode.DISK_FULL, sqlstate="53100", for_s=seconds)


def test_only_a_fault_of_all_workers_makes_the_checks_fail(client: Client) -> None:
    worker_heartbeat.beat(uuid.uuid4(), host="mail-1", pid=6, problems=[full_for(10)])
    full = full_for(60)
    worker_heartbeat.beat(uuid.uuid4(), host="mail-1", pid=7, problems=[full])
    worker_heartbeat.beat(uuid.uuid4(), host="mail-1", pid=8, problems=[full_for(20)])
    healthy = a_worker()
    assert ask(client, "workers")[1]["warnings"] == [reason_sentence(full)]
    assert ask(client, "ready")[0] == 200
    worker_heartbeat.remove_worker(healthy)
    for check in ("workers", "ready"):
        assert ask(client, check)[1]["reasons"] == [reason_sentence(full)]


def test_a_web_process_remembers_its_own_failing_writes(client: Client) -> None:
    now_s = 0.0
    fault = DatabaseFault(lambda: now_s)
    with connection.cursor() as cursor:
        for now_s in (0.0, 6.0):  # noqa: B007 -- the clock reads it
            metrics_buffer.add("homing_of_a_test")
            cursor.execute("SET default_transaction_read_only = on")
            assert not try_to_flush(logging.WARNING, fault)
            cursor.execute("SET default_transaction_read_only = off")
        assert [found.code for found in load_write_faults(cursor, fault)] == ["read_only"]
        assert try_to_flush(logging.WARNING, fault)
        assert load_write_faults(cursor, fault) == []


def test_a_missing_worker_is_reported(client: Client) -> None:
    status, output = ask(client, "workers")
    assert (status, output["status"]) == (503, "unavailable")
    assert output["reasons"][0].startswith("No worker is running: none was started")


def test_a_silent_worker_is_reported_after_a_minute(client: Client) -> None:
    worker = a_worker(silent_for_s=45)
    assert ask(client, "workers")[0] == 200
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE worker SET heard_at = '2026-09-17 06:15:35+00' WHERE id = %s", [worker]
        )
    assert ask(client, "workers") == (
        503,
        {
            "status": "unavailable",
            "reasons": [
                (
                    "No worker sent a heartbeat in the last 60 seconds. The last was at "
                    "2026-09-17 06:15:35 UTC."
                )
            ],
            "release": RELEASE,
        },
    )


def test_a_pending_migration_is_counted_but_not_named(
    client: Client, one_migration_less: str
) -> None:
    status, output = ask(client, "ready")
    assert (status, output["status"]) == (503, "unavailable")
    assert output["reasons"][0].startswith("1 migration is not applied.")
    assert one_migration_less not in json.dumps(output)
    assert ask(client, "live")[0] == 200
    assert command("ready")[1]["details"] == [f"not applied: delivery.{one_migration_less}"]
    text = StringIO()
    with pytest.raises(SystemExit):
        call_command("health", "ready", stdout=text, stderr=text)
    assert text.getvalue().startswith("1 migration is not applied.")
    assert text.getvalue().count(one_migration_less) == 1


def test_a_database_newer_than_the_code_is_ready(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('delivery', '9999_of_tomorrow', clock_timestamp()) RETURNING id"
        )
        (row,) = cursor.fetchone()
        assert ask(client, "ready")[0] == 200
        cursor.execute("DELETE FROM django_migrations WHERE id = %s", [row])


def test_probe_is_answered_under_any_host_name(client: Client) -> None:
    a_worker()
    for host in HOSTS:
        for check in CHECKS:
            assert ask(client, check, host=host)[0] == 200, (check, host)


def test_every_other_address_still_checks_the_host_name(client: Client) -> None:
    for host in HOSTS:
        for path in ("/", "/admin/login/", "/health/", "/health/live", "/healthy/"):
            answer = client.get(path, headers={"host": host}, secure=True)
            assert answer.status_code == 400, (path, host)


def test_prometheus_is_answered_in_its_own_format(client: Client) -> None:
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    answer = client.get("/health/live/", headers={"accept": accept})
    assert answer.content == b'homing_health{check="live"} 1\n'
    assert client.get("/health/workers/", headers={"accept": accept}).status_code == 503


def test_ready_warns_of_slow_server_settings_and_stays_healthy(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        (database,) = cursor.fetchone()
        cursor.execute(f'ALTER DATABASE "{database}" SET synchronous_commit = remote_apply')
        try:
            status, body = ask(client, "ready")
        finally:
            cursor.execute(f'ALTER DATABASE "{database}" RESET synchronous_commit')
    assert (status, body["status"]) == (200, "ok")
    assert any("synchronous_commit is remote_apply" in warning for warning in body["warnings"])


def test_the_live_check_uses_no_database(client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert ask(client, "live")[0] == 200


def test_the_command_prints_the_same_and_sets_the_exit_code(client: Client) -> None:
    code, output = command("ready")
    output.pop("warnings", None)
    assert (code, output) == (0, {"status": "ok", "reasons": [], "release": RELEASE, "details": []})
    code, output = command("workers")
    assert (code, output["reasons"]) == (1, ask(client, "workers")[1]["reasons"])


def test_the_here_option_counts_only_workers_of_this_host() -> None:
    a_worker(host="another-machine")
    assert command("workers")[0] == 0
    code, output = command("workers", "--here")
    assert code == 1
    assert output["reasons"][0].startswith("No worker is running on this host")
    a_worker(host=socket.gethostname()[:255])
    assert command("workers", "--here")[0] == 0
    with pytest.raises(CommandError, match="--here works only with `health workers`"):
        call_command("health", "ready", "--here")


def test_the_command_waits_until_it_is_healthy() -> None:
    """The table is locked until the command has checked twice."""
    waiting = "SELECT pid FROM pg_locks WHERE relation = 'worker'::regclass AND NOT granted"
    asked: set[int] = set()
    with ThreadPoolExecutor(1) as thread:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE worker IN ACCESS EXCLUSIVE MODE")
            a_worker()
            answer = thread.submit(command, "workers", "--wait", "60")
            while len(asked) < 2:
                assert not answer.done()
                cursor.execute(waiting)
                asked |= {pid for (pid,) in cursor}
        assert answer.result()[1]["status"] == "ok"
    assert command("live", "--wait")[0] == 0

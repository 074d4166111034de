"""/metrics: its values, access to it, and its constant cost."""

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from delivery.feedback import event_inbox
from delivery.models import Alarm, Batch, Edition, MetricValue
from delivery.monitoring import metrics_storage, worker_heartbeat
from delivery.monitoring.alarms import raise_alarm
from delivery.monitoring.metrics_storage import INFINITY, metric_key, metrics_buffer
from delivery.reconcile import database_identity
from delivery.rules.reason import Reason, ReasonCode
from newsletter_site.operations.metrics import site_metrics
from newsletter_site.operations.metrics.metrics_catalogue import CATALOGUE
from newsletter_site.operations.metrics.metrics_view import check_access
from newsletter_site.operations.metrics.prometheus_text import DATABASE
from newsletter_site.operations.release import running_release
from postmark_sandbox.server import SandboxServer
from tests.delivery.because import because
from tests.delivery.conftest import newsroom, provider
from tests.delivery.edition_factory import Newsroom
from tests.newsletter_site.every_url import every_address

__all__ = ["newsroom", "provider"]

FROM_HERE = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000"}
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(autouse=True)
def nothing_counted_before(settings: Any) -> Iterator[None]:
    """Discard the counts of other tests, and send batches of two."""
    settings.DELIVERY_BATCH_SIZE = 2
    metrics_buffer.take()
    yield
    metrics_buffer.take()


def scraped() -> Samples:
    """Flush this process's counts, and read a real answer as Prometheus does."""
    metrics_storage.flush()
    answer = Client().get("/metrics", headers={"host": "localhost:8000"})
    assert answer.status_code == 200, answer.content
    return {
        (sample.name, tuple(sorted(_without_the_database(sample.labels).items()))): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def _without_the_database(labels: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name != DATABASE}


def value(name: str, **labels: str) -> float:
    return scraped()[name, tuple(sorted(labels.items()))]


@pytest.mark.django_db(transaction=True)
def test_build_info_names_the_release() -> None:
    [labels] = [dict(labels) for name, labels in scraped() if name == "homing_build_info"]
    assert (labels["version"], labels["commit"]) == running_release()
    assert set(labels) == {"version", "commit", "python", "django", "postgresql"}


def test_every_metric_has_help_a_unit_and_a_unique_name() -> None:
    names = [metric.name for metric in CATALOGUE]
    assert len(names) == len(set(names)) > 30
    for metric in CATALOGUE:
        assert metric.name.startswith("homing_")
        assert metric.help.endswith(".")
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        if "age" in metric.name or metric.kind == "histogram":
            assert metric.name.endswith("_seconds")


@pytest.mark.django_db(transaction=True)
def test_the_metrics_page_lists_exactly_the_catalogue() -> None:
    answer = Client().get("/metrics", headers={"host": "127.0.0.1"})
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
    assert answer["Cache-Control"] == "no-store"
    shown = re.findall(r"^# HELP (homing_\w+) ", answer.content.decode(), re.MULTILINE)
    assert shown == [metric.name for metric in CATALOGUE]
    # Each known series must exist with 0 before its first event, so that Prometheus sees the
    # increase.
    found = scraped()
    for outcome in ("sent", "unknown", "failed"):
        assert found["homing_deliveries_total", (("outcome", outcome),)] == 0
    assert found["homing_alarms_total", (("kind", "accepted_twice"),)] == 0
    assert found["homing_form_posts_total", (("result", "replay"),)] == 0
    assert found["homing_call_duration_seconds_count", ()] == 0


def test_the_longest_labels_of_every_metric_fit_the_table() -> None:
    """An invalid count would keep all counts of its process out of the table."""
    routes = [f"/{address.route}" for address in every_address()]
    most = MetricValue._meta.get_field("labels").max_length
    for metric in CATALOGUE:
        labels = {
            name: max(routes if name == "route" else map(str, values), key=len, default="")
            for name, values in metric.labels.items()
        }
        assert len(metric_key(metric.name, labels | {"le": INFINITY})[1]) <= most, metric.name


def test_outcomes_and_calls_are_counted_once(newsroom: Newsroom, provider: SandboxServer) -> None:
    newsroom.confirm(3, addresses={1: "invalid@bounce.example"})
    newsroom.publish()
    newsroom.deliver_all()
    found = scraped()
    assert found["homing_deliveries_total", (("outcome", "sent"),)] == 2
    assert found["homing_deliveries_total", (("outcome", "failed"),)] == 1
    assert found["homing_calls_total", (("result", "answered"),)] == 2
    assert found["homing_call_duration_seconds_count", ()] == 2
    assert found["homing_call_duration_seconds_sum", ()] > 0
    for phase in ("claim", "render", "wait", "start", "call", "settle"):
        assert found["homing_worker_phase_seconds_total", (("phase", phase),)] > 0
        assert found["homing_worker_phase_cpu_seconds_total", (("phase", phase),)] > 0
    # A call waits, so only this phase always takes longer than its CPU time.
    took = found["homing_worker_phase_seconds_total", (("phase", "call"),)]
    assert found["homing_worker_phase_cpu_seconds_total", (("phase", "call"),)] < took


def test_unknown_deliveries_and_their_lookups_are_counted(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    newsroom.confirm(2)
    provider.sandbox.set_fault("accept_then_close")
    newsroom.publish()
    newsroom.step()
    newsroom.let_time_pass(50)
    found = scraped()
    assert found["homing_deliveries_unknown", ()] == 2
    assert found["homing_oldest_unknown_age_seconds", ()] > 49
    assert found["homing_calls_total", (("result", "unknown"),)] == 1
    newsroom.let_time_pass(1000)
    newsroom.deliver_all()
    found = scraped()
    assert found["homing_lookups_total", (("result", "found"),)] == 1
    assert found["homing_deliveries_total", (("outcome", "sent"),)] == 2
    assert found["homing_oldest_unknown_age_seconds", ()] == 0


@pytest.mark.parametrize("control", ["closed", "cancelled"])
def test_unknowns_that_lookups_cannot_settle_do_not_alert(
    newsroom: Newsroom, provider: SandboxServer, control: str
) -> None:
    newsroom.confirm(2)
    provider.sandbox.set_fault("accept_then_close")
    edition = newsroom.publish()
    newsroom.step()
    newsroom.let_time_pass(50)
    Batch.objects.filter(edition=edition).update(state="parked")
    assert scraped()["homing_oldest_unknown_age_seconds", ()] > 49
    Edition.objects.filter(pk=edition.pk).update(control=control, control_at=Now())
    assert scraped()["homing_oldest_unknown_age_seconds", ()] == 0
    assert scraped()["homing_deliveries_unknown", ()] == 0


def test_a_429_and_the_reduced_rate_are_reported(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    newsroom.confirm(2)
    provider.sandbox.set_fault("refuse_429")
    newsroom.publish()
    newsroom.step()
    newsroom.let_time_pass(-60)  # Without this, the reduced rate may end during the test.
    found = scraped()
    assert found["homing_calls_rate_limited_total", ()] == 1
    assert found["homing_rate_limited", ()] == 1
    assert found["homing_rate_limit_deliveries_per_second", ()] > 0


def test_recovered_batches_are_counted_by_state(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    newsroom.publish(2)
    Batch.objects.update(
        state="claimed", owner=uuid.uuid4(), lease_until="2020-01-01T00:00:00+00:00"
    )
    newsroom.recover_expired_leases()
    assert value("homing_leases_recovered_total", state="claimed") == 1


def test_rolled_back_work_is_not_counted(newsroom: Newsroom) -> None:
    edition = newsroom.publish(1)
    with transaction.atomic(), connection.cursor() as cursor:
        raise_alarm(cursor, edition.pk, Alarm.Kind.ACCEPTED_TWICE, "one", because("One."))
        transaction.set_rollback(True)
    with transaction.atomic(), connection.cursor() as cursor:
        raise_alarm(cursor, edition.pk, Alarm.Kind.NOT_AT_PROVIDER, "two", because("Two."))
        raise_alarm(cursor, edition.pk, Alarm.Kind.NOT_AT_PROVIDER, "two", because("Two."))
    found = scraped()
    assert found["homing_alarms_total", (("kind", "accepted_twice"),)] == 0
    assert found["homing_alarms_total", (("kind", "not_at_provider"),)] == 1
    assert found["homing_alarms_unseen", (("kind", "not_at_provider"),)] == 1


def databases_of_counters() -> set[str]:
    """Return the databases in counters' labels; check that gauges lack this label."""
    answer = Client().get("/metrics", headers={"host": "localhost:8000"})
    families = list(text_string_to_metric_families(answer.content.decode()))
    for family in families:
        for sample in family.samples:
            assert (DATABASE in sample.labels) == (family.type != "gauge"), sample.name
    return {
        sample.labels[DATABASE] for one in families for sample in one.samples if one.type != "gauge"
    }


def test_a_restored_database_starts_new_counters(transactional_db: None) -> None:
    """If a counter decreased, Prometheus would count its events twice."""
    database_identity.check_identity()
    [before] = databases_of_counters()
    assert databases_of_counters() == {before}
    database_identity.declare_restored()
    [after] = databases_of_counters()
    assert after != before


def test_due_batches_are_counted_without_held_ones(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(3, hold_s=3600)
    found = scraped()
    assert found["homing_deliveries_waiting", ()] == 3
    assert found["homing_batches", (("state", "ready"),)] == 2
    assert found["homing_oldest_due_batch_age_seconds", ()] == 0
    assert found["homing_editions", (("state", "held"),)] == 1
    newsroom.let_time_pass(3700)
    found = scraped()
    assert 90 < found["homing_oldest_due_batch_age_seconds", ()] < 200
    assert found["homing_editions", (("state", "sending"),)] == 1
    # Only open issues have series with their ids.
    which = {"issue": str(edition.issue_id), "version": "1"}
    assert value("homing_edition_deliveries", **which, outcome="waiting") == 3
    newsroom.deliver_all()
    assert not [name for name, _ in scraped() if name == "homing_edition_deliveries"]


def test_workers_and_their_last_heartbeat_are_reported(
    transactional_db: None, settings: Any
) -> None:
    assert ("homing_workers_expected", ()) not in scraped()
    settings.EXPECTED_WORKERS = 2
    assert value("homing_workers_expected") == 2
    assert ("homing_last_heartbeat_age_seconds", ()) not in scraped()
    worker = uuid.uuid4()
    problem = Reason.of(ReasonCode.NO_UNSUBSCRIBE_LINK, stream="b", handling="Custom")
    worker_heartbeat.beat(worker, host="mail-1", pid=7, problems=[problem, problem])
    assert value("homing_workers") == 1
    assert value("homing_worker_problems", problem="no_unsubscribe_link") == 1
    assert value("homing_worker_problems", problem="two_unsubscribe_links") == 0
    with connection.cursor() as cursor:
        cursor.execute("UPDATE worker SET heard_at = heard_at - interval '5 minutes'")
    found = scraped()
    assert found["homing_workers", ()] == 0
    assert value("homing_worker_problems", problem="no_unsubscribe_link") == 0
    assert 299 < found["homing_last_heartbeat_age_seconds", ()] < 400


def test_open_transactions_and_dead_rows_are_reported(
    database_url: str, transactional_db: None
) -> None:
    with psycopg.connect(database_url) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM batch")
        found = scraped()
    assert found["homing_database_oldest_snapshot_seconds", ()] > 0
    assert found["homing_database_oldest_transaction_seconds", ()] > 0
    # An open transaction keeps dead rows whether it writes or only reads.
    with psycopg.connect(database_url) as other:
        other.execute(
            "INSERT INTO metric_value (name, labels, value) VALUES ('forgotten', '{}', 1)"
        )
        found = scraped()
        other.rollback()
    assert found["homing_database_oldest_snapshot_seconds", ()] > 0


def test_a_changed_database_is_reported(transactional_db: None) -> None:
    assert value("homing_database_identity_differs") == 0
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO database_identity (id, system_identifier, timeline, database, since) "
            "VALUES (1, '7', '1', 7, clock_timestamp())"
        )
    assert value("homing_database_identity_differs") == 1


def test_requests_are_counted_by_route_and_never_by_address(transactional_db: None) -> None:
    client = Client()
    client.get("/unsubscribe/a-secret-token/", secure=True)
    client.get("/nowhere/at/all/", secure=True)
    client.get("/health/live/")
    shown = {
        (labels["route"], labels["status"]): number
        for (name, pairs), number in scraped().items()
        for labels in [dict(pairs)]
        if name == "homing_http_requests_total"
    }
    assert shown["/unsubscribe/<str:token>/", "2xx"] == 1
    assert shown["(none)", "4xx"] == 1
    assert not [route for route, _ in shown if "secret" in route or "health" in route]


def test_sign_ins_are_counted_by_result(transactional_db: None, settings: Any) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    get_user_model().objects.create_user("edith", password="a long password", is_staff=True)
    before = scraped()
    for name, password in [("edith", "a long password"), *[("nobody", "wrong")] * 5]:
        fields = {"username": name, "password": password}
        Client().post("/admin/login/", fields, secure=True)
    after = scraped()
    counted = {
        result: after["homing_sign_ins_total", (("result", result),)]
        - before["homing_sign_ins_total", (("result", result),)]
        for result in ("succeeded", "failed", "throttled")
    }
    assert counted == {"succeeded": 1, "failed": 3, "throttled": 2}


def test_pending_events_are_counted_with_their_age(transactional_db: None) -> None:
    assert value("homing_oldest_pending_provider_event_age_seconds") == 0
    for minutes in (20, 1):
        event = event_inbox.store(f'{{"RecordType": "Delivery", "ID": {minutes}}}'.encode())
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE provider_event SET received_at = received_at - make_interval(mins => %s) "
                "WHERE id = %s",
                [minutes, event],
            )
    found = scraped()
    assert found["homing_provider_events_pending", ()] == 2
    assert 1199 < found["homing_oldest_pending_provider_event_age_seconds", ()] < 1300


def test_a_route_counts_errors_from_zero_and_no_503(transactional_db: None) -> None:
    """A route's count of errors starts at 0, and answers with 503 do not count."""

    def errors() -> float:
        return value("homing_http_requests_total", route="/somewhere/", status="5xx")

    site_metrics.observe_request("/somewhere/", 200, 0.1)
    assert errors() == 0
    for status in (503, 500, 502):
        site_metrics.observe_request("/somewhere/", status, 0.1)
    assert errors() == 2
    assert value("homing_http_requests_total", route="/somewhere/", status="503") == 1


def test_without_a_token_local_programs_are_allowed() -> None:
    for address in ("127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"):
        for host in ("localhost", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST:80"):
            shown = check_access({"REMOTE_ADDR": address, "HTTP_HOST": host}, "")
            assert shown == 200, (address, host)


@pytest.mark.parametrize(
    "differs",
    [
        {"REMOTE_ADDR": "10.0.0.7"},
        {"REMOTE_ADDR": "128.0.0.1"},
        {"REMOTE_ADDR": ""},  # a Unix socket, which does not name its clients
        {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"HTTP_X_FORWARDED_FOR": ""},
        {"HTTP_FORWARDED": "for=127.0.0.1"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
        {"HTTP_HOST": "letter.example.org"},  # a proxy without headers, or DNS rebinding
        {"HTTP_HOST": "127.0.0.1.evil.example"},
        {"HTTP_HOST": "localhost.evil.example:8000"},
        {"HTTP_HOST": ""},
        {"HTTP_AUTHORIZATION": "Bearer ", "REMOTE_ADDR": "10.0.0.7"},
    ],
)
def test_without_a_token_others_are_refused(differs: dict[str, str]) -> None:
    assert check_access(FROM_HERE | differs, "") == 403


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic s3cret", "bearers3cret"])
def test_with_a_token_only_the_token_counts(given: str) -> None:
    assert check_access(FROM_HERE | {"HTTP_AUTHORIZATION": given}, "s3cret") == 401
    with_it = {"REMOTE_ADDR": "10.0.0.7", "HTTP_AUTHORIZATION": "Bearer s3cret"}
    assert check_access(with_it, "s3cret") == 200


@pytest.mark.django_db
def test_a_refusal_has_no_body_and_uses_no_database(
    settings: Any, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        refused = Client(REMOTE_ADDR="10.0.0.7").get("/metrics")
        settings.METRICS_TOKEN = "s3cret"
        wrong = Client().get("/metrics", headers={"host": "localhost"})
    assert (refused.status_code, refused.content) == (403, b"")
    assert (wrong.status_code, wrong.content) == (401, b"")
    assert wrong["WWW-Authenticate"] == "Bearer"
    assert "homing" not in str(wrong.headers).lower()


def measured() -> tuple[int, str]:
    answer = Client().get("/metrics", headers={"host": "localhost"})
    return answer.status_code, answer.content.decode()


@pytest.fixture
def a_table_less(transactional_db: None) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE subscriber_import RENAME TO not_there_yet")
        yield
        cursor.execute("ALTER TABLE not_there_yet RENAME TO subscriber_import")


def test_unreadable_metrics_name_pending_migrations(
    one_migration_less: str, a_table_less: None
) -> None:
    status, body = measured()
    assert status == 503
    assert json.loads(body)["reasons"] == [
        "1 migration is not applied. Apply it before this version serves visitors."
    ]


def test_metrics_are_read_despite_pending_migrations(one_migration_less: str) -> None:
    status, body = measured()
    assert status == 200
    assert "\nhoming_migrations_pending 1" in body


def test_other_errors_are_not_called_pending_migrations(a_table_less: None) -> None:
    status, body = measured()
    assert status == 503
    assert json.loads(body) == {
        "status": "unavailable",
        "reasons": ["The database does not answer."],
        "release": str(running_release()),
    }

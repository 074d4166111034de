"""Counters in memory, flushed to the table by any number of processes."""

import threading
from typing import Any

import pytest
from django.db import DatabaseError, connection
from prometheus_client.parser import text_string_to_metric_families

from delivery.monitoring.metrics_storage import Histogram, MetricsBuffer, flush, load_metrics
from newsletter_site.operations.metrics.prometheus_text import exposition

pytestmark = pytest.mark.django_db(transaction=True)

WAIT = Histogram("wait_seconds", (0.1, 1.0))


def in_the_table() -> Any:
    with connection.cursor() as cursor:
        return load_metrics(cursor)


def test_two_processes_add_to_the_same_rows() -> None:
    one, other = MetricsBuffer(), MetricsBuffer()
    one.add("calls", result="answered")
    other.add("calls", 2, result="answered")
    other.add("calls", result="refused")
    flush(one)
    flush(other)
    assert in_the_table() == {"calls": [({"result": "answered"}, 3), ({"result": "refused"}, 1)]}


def test_flushed_counts_are_added_once(django_assert_num_queries: Any) -> None:
    counted = MetricsBuffer()
    counted.add("calls", 0)
    with django_assert_num_queries(0):
        flush(counted)
    counted.add("calls")
    with django_assert_num_queries(1):
        flush(counted)
        flush(counted)
    assert in_the_table() == {"calls": [({}, 1)]}


def test_counts_wait_after_a_failed_flush() -> None:
    counted = MetricsBuffer()
    counted.add("calls", 3)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE metric_value RENAME TO metric_value_away")
    try:
        with pytest.raises(DatabaseError):
            flush(counted)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE metric_value_away RENAME TO metric_value")
    counted.add("calls")
    flush(counted)
    assert in_the_table() == {"calls": [({}, 4)]}


def test_threads_that_count_at_once_lose_nothing() -> None:
    counted = MetricsBuffer()

    def count() -> None:
        for _ in range(2000):
            counted.add("calls")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    total = 0.0
    while any(thread.is_alive() for thread in threads):
        total += sum(counted.take().values())
    total += sum(counted.take().values())
    assert total == 8000


@pytest.mark.parametrize(
    ("seconds", "bound"), [(0.0, "0.1"), (0.1, "0.1"), (0.11, "1"), (1.0, "1"), (1.01, "+Inf")]
)
def test_duration_falls_into_the_first_fitting_bucket(seconds: float, bound: str) -> None:
    assert WAIT.bucket_of(seconds) == bound


def test_histogram_has_prometheus_buckets_sum_and_count() -> None:
    counters = {
        "homing_call_duration_seconds_bucket": [
            ({"le": "0.1"}, 3),
            ({"le": "5"}, 2),
            ({"le": "+Inf"}, 1),
            ({"le": "0.2"}, 4),  # this bound comes from an earlier version of Homing
        ],
        "homing_call_duration_seconds_sum": [({}, 130.5)],
        "homing_of_another_version_total": [({}, 1)],
    }
    text = exposition(counters, {}, database="a").decode()
    assert "another_version" not in text
    (family,) = (
        family
        for family in text_string_to_metric_families(text)
        if family.name == "homing_call_duration_seconds"
    )
    counted = {sample.labels.get("le", sample.name): sample.value for sample in family.samples}
    assert counted["0.1"] == 3
    assert counted["0.25"] == counted["2.5"] == 7
    assert counted["5"] == counted["120"] == 9
    assert counted["+Inf"] == counted["homing_call_duration_seconds_count"] == 10
    assert counted["homing_call_duration_seconds_sum"] == 130.5

"""A worker that freezes within a transaction cannot stop the others."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from delivery.feedback import poll_provider, send_suppression_changes
from delivery.models import PeriodicTask, SendRate
from delivery.queue import shared_send_rate
from delivery.tasks.register_background_task import background_tasks, run_all
from newsletter_site.data_retention import prune
from publishing.models import Export
from tests.delivery.edition_factory import Newsroom, never


@pytest.fixture
def without_limit(newsroom: Newsroom) -> Iterator[list[str]]:
    """List statements in transactions whose idle time the server does not limit."""
    noted: list[str] = []

    def run(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        result = execute(sql, *arguments)
        if connection.in_atomic_block:
            with connection.connection.cursor() as cursor:
                cursor.execute("SHOW idle_in_transaction_session_timeout")
                if cursor.fetchone() == ("0",):
                    noted.append(sql)
        return result

    with connection.execute_wrapper(run):
        yield noted


def test_background_work_limits_its_transactions(
    newsroom: Newsroom, without_limit: list[str]
) -> None:
    newsroom.publish(readers=3)
    newsroom.deliver_all()
    Export.objects.create()
    send_suppression_changes.queue_suppression_change("ada@example.org", "suppress")
    PeriodicTask.objects.all().delete()
    SendRate.objects.all().delete()
    without_limit.clear()

    failures: list[str] = []
    run_all(lambda message, error: failures.append(f"{message}: {error!r}"))
    for task in background_tasks():
        task.work(never)
    prune(pause=lambda _: None)
    poll_provider.poll(never)
    send_suppression_changes.push_suppression_changes(never)
    shared_send_rate.ensure_row()

    assert failures == []
    assert without_limit == []
    assert Export.objects.get().state == "finished"
    assert PeriodicTask.objects.count() > 2
    assert SendRate.objects.exists()

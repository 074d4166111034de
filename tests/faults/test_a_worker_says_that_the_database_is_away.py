"""A worker says once that the database is away, and once that it is back."""

from __future__ import annotations

import json
from typing import Any

from django.db import connection

from delivery.models import Worker
from tests.faults.stage import Stage
from tests.faults.waiting_for import eventually
from tests.faults.watched_worker import WatchedWorker

AWAY = "the database is away"
BACK = "the database is back"


def lines(worker: WatchedWorker) -> list[dict[str, Any]]:
    """What it wrote into its log."""
    return [json.loads(line) for line in worker.said.splitlines()]


def test_an_outage_is_one_line_when_it_begins_and_one_when_it_is_over(stage: Stage) -> None:
    worker = stage.worker("--concurrency", "2", LOG_LEVEL="debug", LOG_FORMAT="json")
    eventually(lambda: Worker.objects.exists(), "it arrived")

    for outage in (1, 2):
        with stage.server.away("immediate"):
            worker.wait_for("a step failed", times=4 * outage)
            worker.wait_for("a duty of the watch failed", times=2 * outage)
        worker.wait_for(BACK, times=outage)
    assert worker.stop() == 0, worker.said

    said = [line for line in lines(worker) if line["level"] == "error"]
    assert [AWAY in line["event"] for line in said] == [True, True]
    assert all("OperationalError" in line["fault"] for line in said)
    assert len([line for line in lines(worker) if BACK in line["event"]]) == 2


def test_lines_that_are_cut_with_a_database_that_takes_others_are_no_outage(stage: Stage) -> None:
    worker = stage.worker("--concurrency", "2")
    eventually(lambda: Worker.objects.exists(), "it arrived")

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    # A duty, a chore or a step: whichever was next on a line that is no more.
    worker.wait_for(" failed")
    assert worker.stop() == 0, worker.said

    assert AWAY not in worker.said

"""Real worker processes, stopped and killed at critical moments."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from delivery.feedback import event_inbox
from delivery.models import ProviderEvent
from delivery.reports.worker_warnings import load_warnings
from postmark_sandbox.server import SandboxServer
from tests.delivery.edition_factory import Newsroom
from tests.faults.processes.watched_worker import WorkerProcess
from tests.faults.wait_until import held

# Short times: a crashed worker is noticed during the test, but a call still has enough time.
SHORT = {
    "DELIVERY_HTTP_DEADLINE_S": "2",
    "DELIVERY_LEASE_S": "1",
    "DELIVERY_LOOKUP_AFTER_S": "0.2,0.4,0.6",
    "DELIVERY_RETRY_BASE_S": "0.1",
    "DELIVERY_BATCH_SIZE": "50",
}

pytestmark = pytest.mark.process

StartWorker = Callable[..., WorkerProcess]


@pytest.fixture
def start_worker(database_url: str, provider: SandboxServer) -> Iterator[StartWorker]:
    """Start workers on the test's database and provider; end them with the test."""
    workers: list[WorkerProcess] = []

    def begin(*options: str, **settings: str) -> WorkerProcess:
        worker = WorkerProcess(database_url, provider.url, *options, **(SHORT | settings))
        workers.append(worker)
        return worker

    yield begin
    for worker in workers:
        if worker.is_running():
            worker.kill()


@pytest.mark.parametrize("processes", ["1", "2"])
def test_until_empty_delivers_and_counts_all(
    newsroom: Newsroom, start_worker: StartWorker, processes: str
) -> None:
    edition = newsroom.publish(readers=500, hold_s=2)
    worker = start_worker("--until-empty", DELIVERY_PROCESSES=processes)
    assert worker.end() == 0, worker.output
    totals = worker.totals()
    assert totals == dict.fromkeys(totals, 0) | {"editions": 1, "audience": 500, "sent": 500}
    assert newsroom.state(edition) == "succeeded"
    assert newsroom.sandbox.summary()["distinct_deliveries"] == 500


@pytest.mark.parametrize("processes", ["1", "2"])
def test_until_empty_ends_with_3_if_stopped(
    newsroom: Newsroom, start_worker: StartWorker, processes: str
) -> None:
    newsroom.publish(readers=5)
    newsroom.sandbox.set_fault("unauthorized_401", calls=None)
    worker = start_worker("--until-empty", "--processes", processes)
    assert worker.end() == 3
    assert worker.totals()["waiting"] == 5
    assert "POSTMARK_SERVER_TOKEN" in worker.output


def test_until_empty_applies_all_pending_events(
    newsroom: Newsroom, start_worker: StartWorker
) -> None:
    event_inbox.store_all([b"%d" % number for number in range(event_inbox.READ_AT_ONCE + 20)])
    ProviderEvent.objects.update(received_at="2000-01-01T00:00:00Z")
    worker = start_worker("--until-empty")
    assert worker.end() == 0, worker.output
    assert not ProviderEvent.objects.filter(applied_at=None).exists()


def test_all_worker_threads_have_the_configured_niceness(
    newsroom: Newsroom, provider: SandboxServer, start_worker: StartWorker
) -> None:
    newsroom.publish(readers=1)
    newsroom.sandbox.set_fault("hold", moment="after_accept", calls=1)
    worker = start_worker("--until-empty", DELIVERY_HTTP_DEADLINE_S="60", DELIVERY_NICENESS="15")
    held(provider)
    threads = [int(thread.name) for thread in Path(f"/proc/{worker.pid}/task").iterdir()]
    assert len(threads) > 1
    assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads} == {15}
    newsroom.sandbox.gate.release()
    assert worker.end() == 0, worker.output


def test_a_wrong_unsubscribe_handling_of_the_stream_is_a_warning(
    newsroom: Newsroom, provider: SandboxServer, start_worker: StartWorker
) -> None:
    newsroom.publish(readers=1)
    newsroom.sandbox.set_fault("hold", moment="before_accept", calls=1)
    settings = {"UNSUBSCRIBE_HANDLING": "postmark", "DELIVERY_HTTP_DEADLINE_S": "60"}
    worker = start_worker("--until-empty", **settings)
    held(provider)
    # Pages show the warning while the worker runs.
    (warning,) = load_warnings()
    newsroom.sandbox.gate.release()
    assert worker.end() == 0, worker.output
    assert "UNSUBSCRIBE_HANDLING is “postmark”" in warning
    assert "UNSUBSCRIBE_HANDLING does not match the stream" in worker.output
    assert load_warnings() == []


@pytest.mark.parametrize(("started_at", "stands_at"), [(12, 15), (19, 19)])
def test_higher_niceness_is_kept(started_at: int, stands_at: int) -> None:
    assert os.getpriority(os.PRIO_PROCESS, 0) <= 12, "run the tests at a niceness of at most 12"
    code = (
        "import os; import django; django.setup(); "
        "from delivery.worker.worker_process import raise_niceness; "
        f"os.setpriority(os.PRIO_PROCESS, 0, {started_at}); raise_niceness(15); "
        "print(os.getpriority(os.PRIO_PROCESS, 0))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert int(printed) == stands_at

"""After a worker is killed, another worker on the machine continues at once."""

from typing import Any

from delivery.models import Edition, Newsletter
from tests.faults.delivery_stack import Stage
from tests.faults.processes.watched_worker import WatchedWorker
from tests.faults.servers.stalling_proxy import StallingLine

READERS = 20
# Times that are far longer than a test may take.
LONG = {"DELIVERY_HTTP_DEADLINE_S": "3000", "DELIVERY_LEASE_S": "3000"}


def goes_on_without(killed: WatchedWorker, stage: Stage, edition: Edition, readers: int) -> None:
    """Kill a worker; check that another worker sends the remaining copies."""
    killed.kill()
    assert stage.worker("--until-empty", **LONG).end() == 0
    stage.all_got_one(edition, readers)


def test_claim_of_a_killed_worker_is_released_at_once(stage: Stage) -> None:
    edition = stage.newsroom.publish(readers=READERS)
    # The worker has claimed a batch and waits to insert the missing row of settings.
    Newsletter.objects.all().delete()
    with stage.hold("LOCK TABLE newsletter IN SHARE MODE"):
        worker = stage.worker("--concurrency", "1", **LONG)
        stage.newsroom.wait_for_a_backend_that_waits_for_a_lock()
        worker.kill()
    goes_on_without(worker, stage, edition, READERS)


def test_accepted_call_of_a_killed_worker_is_found_at_once(stage: Stage) -> None:
    edition, worker = stage.in_a_call("--concurrency", "1", **LONG)
    goes_on_without(worker, stage, edition, READERS)
    assert len(stage.newsroom.attempts(edition)) == 1


def test_incomplete_call_of_a_killed_worker_is_repeated_at_once(
    stage: Stage, line: StallingLine, settings: Any
) -> None:
    # Make the request larger than all the buffers on the way can hold.
    settings.DELIVERY_BATCH_SIZE = 200
    edition = stage.newsroom.publish(readers=200, html=f"<p>{'Swifts. ' * 6000}</p>")
    line.stall_after(500_000)
    worker = stage.worker("--concurrency", "1", POSTMARK_BASE_URL=line.url, **LONG)
    line.wait_until_stalled()
    goes_on_without(worker, stage, edition, 200)
    results = [attempt.result for attempt in stage.newsroom.attempts(edition)]
    assert results == ["not_sent", "answered"]
    line.forward_stalled()
    line.wait_until_forwarded()
    stage.all_got_one(edition, 200)

"""Workers and reapers that race for the same batches."""

from delivery.models import Attempt, Batch, Newsletter
from tests.faults.delivery_stack import Stage
from tests.faults.wait_until import eventually


def test_live_workers_with_reaped_batches_send_nothing_twice(stage: Stage) -> None:
    edition = stage.newsroom.publish(readers=200)
    leases = {"DELIVERY_LEASE_S": "0.5", "DELIVERY_HTTP_DEADLINE_S": "0.5"}
    stage.sandbox.set_fault("hold", moment="after_accept", calls=6)
    # Both workers have claimed a batch. Each worker must insert the missing row of settings, but
    # the table is locked until a reaper has recovered a batch.
    Newsletter.objects.all().delete()
    with stage.hold("LOCK TABLE newsletter IN SHARE MODE"):
        both = [stage.worker("--until-empty", **leases) for _ in range(2)]
        eventually(lambda: Batch.objects.filter(crashes__gt=0).exists(), "a batch was reaped")

    # These calls last longer than the leases, so reapers recover the batches during the calls.
    eventually(lambda: stage.sandbox.gate.held > 0, "calls are held")
    eventually(
        lambda: Attempt.objects.filter(result="unknown").count() > 2, "calls became unconfirmed"
    )
    stage.sandbox.gate.release()

    for worker in both:
        assert worker.end() == 0, worker.output
    stage.all_got_one(edition, 200)

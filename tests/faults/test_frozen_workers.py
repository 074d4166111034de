"""A worker is frozen past its lease, at each stage of a batch, and then resumed."""

import signal
from typing import Any

from delivery.models import Alarm, Evidence
from tests.delivery.edition_factory import THE_LAST_LOOK
from tests.faults.delivery_stack import Stage
from tests.faults.processes.watched_worker import WatchedWorker
from tests.faults.servers.stalling_proxy import StallingLine
from tests.faults.wait_until import eventually

READERS = 20


def woken(frozen: WatchedWorker, words: str = "") -> None:
    """Resume the frozen worker; wait for the log text `words` and for a clean state."""
    frozen.signal(signal.SIGCONT)
    if words:
        frozen.wait_for(words)
    assert frozen.stop() == 0, frozen.output


def test_frozen_between_claim_and_record_of_the_call(stage: Stage) -> None:
    edition = stage.newsroom.publish(readers=READERS)
    # The worker has claimed a batch and waits to read the copies that it renders.
    with stage.hold("LOCK TABLE delivery IN ACCESS EXCLUSIVE MODE"):
        frozen = stage.worker("--concurrency", "1")
        stage.newsroom.wait_for_a_backend_that_waits_for_a_lock()
        frozen.freeze()
    stage.the_rest_goes_out()

    # The worker loses its claim without a message and continues with the next queued batch.
    later = stage.newsroom.publish()
    frozen.signal(signal.SIGCONT)
    eventually(lambda: stage.newsroom.outcomes(later) == ["sent"] * READERS, "it continued")
    assert frozen.stop() == 0, frozen.output

    assert stage.newsroom.counts(edition).sent == stage.newsroom.counts(later).sent == READERS
    assert len(stage.newsroom.attempts(edition)) == len(stage.newsroom.attempts(later)) == 1
    summary = stage.sandbox.summary()
    assert (summary["accepted"], summary["distinct_deliveries"]) == (2 * READERS, 2 * READERS)


def test_frozen_while_recording_the_call(stage: Stage) -> None:
    edition = stage.newsroom.publish(readers=READERS)
    with stage.hold("LOCK TABLE subscriber IN ACCESS EXCLUSIVE MODE"):
        frozen = stage.worker("--concurrency", "1")
        stage.newsroom.wait_for_a_backend_that_waits_for_a_lock(doing=THE_LAST_LOOK)
        frozen.freeze()
    # When the lock is free, the server records the start of the call. When the lease expires,
    # another worker takes the batch.
    stage.the_rest_goes_out()

    # The deadline has passed, so the worker sends nothing.
    woken(frozen, "claim was lost")

    stage.all_got_one(edition, READERS)
    assert len(stage.newsroom.attempts(edition)) == 2


def test_frozen_while_sending(stage: Stage, line: StallingLine, settings: Any) -> None:
    # Make the request larger than all the buffers on the way can hold.
    settings.DELIVERY_BATCH_SIZE = 200
    edition = stage.newsroom.publish(readers=200, html=f"<p>{'Swifts. ' * 6000}</p>")
    line.stall_after(500_000)
    frozen = stage.worker("--concurrency", "1", POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()
    frozen.freeze()
    stage.the_rest_goes_out()
    assert stage.sandbox.summary()["accepted"] == 200

    frozen.signal(signal.SIGCONT)
    frozen.wait_for("attempt")
    line.forward_stalled()
    line.wait_until_forwarded()
    assert frozen.stop() == 0, frozen.output

    stage.all_got_one(edition, 200)
    assert len(stage.newsroom.attempts(edition)) == 2


def test_answer_of_a_resumed_worker_is_kept_without_search(stage: Stage) -> None:
    edition, frozen = stage.in_a_call("--concurrency", "1", DELIVERY_HTTP_DEADLINE_S="3")
    stage.sandbox.set_fault("search_503", calls=None)
    frozen.freeze()
    stage.sandbox.gate.release()
    other = stage.worker("--concurrency", "1")
    eventually(lambda: stage.newsroom.outcomes(edition) == ["unknown"] * READERS, "all are unknown")

    woken(frozen, "claim was lost")

    kept = Evidence.objects.filter(issue_id=edition.issue_id, source=Evidence.Source.REPLY)
    assert kept.count() == READERS
    stage.sandbox.faults.clear()
    assert other.stop() == 0, other.output
    stage.the_rest_goes_out()
    stage.all_got_one(edition, READERS)


def test_frozen_while_settling(stage: Stage) -> None:
    edition, frozen = stage.in_a_call("--concurrency", "1", DELIVERY_HTTP_DEADLINE_S="3")
    with stage.hold("SELECT 1 FROM delivery ORDER BY recipient_id LIMIT 1 FOR UPDATE"):
        stage.sandbox.gate.release()
        stage.newsroom.wait_for_a_backend_that_waits_for_a_lock()
        frozen.freeze()
    stage.the_rest_goes_out()

    # The server has settled the batch in the meantime.
    woken(frozen, "20 deliveries, done")

    stage.all_got_one(edition, READERS)
    assert not Alarm.objects.exists()
    assert len(stage.newsroom.attempts(edition)) == 1


def test_frozen_during_a_look_up(stage: Stage, line: StallingLine) -> None:
    edition = stage.newsroom.publish(readers=READERS)
    stage.sandbox.set_fault("accept_then_close", calls=1)
    line.stall_at(b"/messages/outbound")
    frozen = stage.worker("--concurrency", "1", POSTMARK_BASE_URL=line.url)
    line.wait_until_stalled()
    frozen.freeze()
    stage.the_rest_goes_out()

    line.forward_stalled()
    woken(frozen)
    line.wait_until_forwarded()

    stage.all_got_one(edition, READERS)
    assert len(stage.newsroom.attempts(edition)) == 1

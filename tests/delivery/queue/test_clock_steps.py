"""No reader gets two copies if the database's clock steps an hour either way.

Copies may be sent late. The tests move the stored times instead of the clock. Earlier stored times
have the effect of a clock that steps forward; later times have the effect of a step back.
"""

import uuid

import pytest

from delivery.queue.claim_due_batch import claim, claim_lookup
from tests.delivery.edition_factory import Newsroom

HOUR = 3600.0
STEPS = pytest.mark.parametrize("step", [HOUR, -HOUR], ids=["forward", "back"])


@STEPS
@pytest.mark.parametrize("when", [1, 2, 5])
def test_every_reader_gets_one_copy_despite_clock_steps(
    newsroom: Newsroom, step: float, when: int
) -> None:
    """The clock makes a step before a lost claim, a lost reply, a 429 or a plain call."""
    edition = newsroom.publish(readers=8, hold_s=60, batch_size=2)
    stages = [
        lambda: newsroom.let_time_pass(61),
        lambda: claim(uuid.uuid4(), lease_s=5),
        lambda: (newsroom.sandbox.set_fault("accept_then_close"), newsroom.step()),
        lambda: (newsroom.sandbox.set_fault("refuse_429"), newsroom.step()),
        lambda: newsroom.step(),
        lambda: claim_lookup(uuid.uuid4(), lease_s=5),
    ]
    for number, stage in enumerate(stages):
        if number == when:
            newsroom.let_time_pass(step)
        stage()
        newsroom.recover_expired_leases()

    # After a step back no batch is due for an hour, so the test moves the time forward.
    for _ in range(12):
        newsroom.let_time_pass(HOUR)
        newsroom.recover_expired_leases()
        newsroom.deliver_all()

    assert newsroom.state(edition) == "succeeded"
    assert newsroom.outcomes(edition) == ["sent"] * 8
    summary = newsroom.sandbox.summary()
    assert (summary["accepted"], summary["deliveries_with_more_than_one_copy"]) == (8, 0)


def test_a_step_forward_still_needs_every_scheduled_look_up(newsroom: Newsroom) -> None:
    """The search lags. According to the changed clock, the whole schedule has passed."""
    edition = newsroom.publish(readers=3)
    newsroom.sandbox.set_fault("search_delay", seconds=3600)
    newsroom.sandbox.set_fault("accept_then_close")
    newsroom.step()
    newsroom.let_time_pass(HOUR)

    for _ in range(5):
        newsroom.deliver_all()

    assert newsroom.counts(edition).unknown == 3
    assert len(newsroom.attempts(edition)) == 1
    newsroom.sandbox.faults.clear()
    newsroom.deliver_after(HOUR)
    assert newsroom.state(edition) == "succeeded"
    assert newsroom.sandbox.summary()["accepted"] == 3

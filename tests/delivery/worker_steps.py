"""Take the steps of a worker one by one, and read the states of batches."""

import uuid
from collections.abc import Sequence

from django.db import connection

from delivery.models import Batch, Delivery, Edition
from delivery.provider.from_settings import policy_from_settings
from delivery.queue.claim_due_batch import Claim, claim, claim_lookup
from delivery.queue.settle_batch import attempt_result, settle_call
from delivery.queue.start_call import start
from delivery.rules.after_call_or_lookup import AttemptCounters, after_call
from delivery.rules.call_results import CallResult
from delivery.rules.delivery_key import DeliveryKey
from subscribers.models import Subscriber
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom

WORKER = uuid.uuid4()


def accepted(newsroom: Newsroom) -> int:
    """Count the copies that the provider accepted."""
    return int(newsroom.sandbox.summary()["accepted"])


def changed(copy: Delivery, **values: object) -> str:
    """Change the row of a copy directly in the table; return its key."""
    key = {"issue": copy.issue_id, "version": copy.version, "recipient": copy.recipient_id}
    Delivery.objects.filter(**key).update(**values)
    return str(DeliveryKey(**key))


def copies_by_key(newsroom: Newsroom) -> dict[str, int]:
    """Return the number of copies that the provider accepted for each delivery key."""
    return newsroom.sandbox.outbox.copies(lambda size: size > 0)


def begun() -> tuple[Claim, uuid.UUID, Sequence[int]]:
    """Start the call of the next batch; return the claim, the attempt and its readers."""
    claimed, attempt = claim(WORKER, lease_s=30), uuid.uuid4()
    assert claimed is not None
    started = start(claimed, attempt, WORKER, deadline_s=5, lease_s=5)
    assert started
    return claimed, attempt, started


def asked() -> Claim:
    """Claim the next unknown batch whose look-up is due."""
    claimed = claim_lookup(WORKER, lease_s=30)
    assert claimed is not None
    return claimed


def publish_unanswered(newsroom: Newsroom, readers: int = 3) -> Edition:
    """Publish an edition whose only call was accepted but got no answer."""
    edition = newsroom.publish(readers=readers)
    newsroom.sandbox.set_fault("accept_then_close", calls=1)
    newsroom.deliver_all()
    assert "unknown" in newsroom.outcomes(edition)
    return edition


class Call:
    """A call in flight for the next batch, with an answer that the test chooses."""

    def __init__(self) -> None:
        self._claim, self._attempt, self.recipients = begun()

    def ends(self, answer: CallResult) -> None:
        """Let the provider answer and the worker settle."""
        settlement = after_call(
            answer, self.recipients, AttemptCounters(), jitter=0.5, policy=policy_from_settings()
        )
        assert settle_call(self._claim, self._attempt, settlement, attempt_result(answer))


def claim_next_batch(lease_s: float = 30) -> Claim:
    """Claim the next batch with a new worker."""
    claimed = claim(uuid.uuid4(), lease_s=lease_s)
    assert claimed is not None
    return claimed


def leave_all_of(batch: Batch) -> None:
    """Unsubscribe every reader of a batch."""
    readers = Delivery.objects.filter(batch=batch).values("recipient")
    Subscriber.objects.filter(pk__in=readers).update(
        state="unsubscribed", unsubscribed_at=batch.due_at
    )


def restored(edition: Edition) -> None:
    """Set an edition to its state after the database was restored."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE batch SET state = 'paused' WHERE state = 'ready'")
    Edition.objects.filter(pk=edition.pk).update(
        control="stopped",
        control_reason=because("Restored."),
        unreconciled_since=edition.published_at,
    )


def states(newsroom: Newsroom, edition: Edition) -> list[str]:
    return [batch.state for batch in newsroom.batches(edition)]

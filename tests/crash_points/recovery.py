"""What happens after a crash: time passes, and others do what they would have done anyway."""

from django.conf import settings

from delivery.queue import control
from delivery.reconcile import database_identity
from delivery.rules.edition_state import EditionState
from tests.crash_points.actions import Hands

# Longer than a lease with its call, and than any pause or look-up of this theatre's settings.
A_LONG_WHILE_S = 2000.0
ENDED = {EditionState.SUCCEEDED, EditionState.CANCELLED, EditionState.CLOSED}
# Each while brings back, asks about or sends something; no scenario needs nearly as many.
WHILES_AT_MOST = 12


class NeverDoneError(Exception):
    """Time passed and workers worked, and still something was open."""


def recover(hands: Hands) -> None:
    """
    Let a worker work and time pass until nothing is open.

    An author whose form got no answer posts it again; an operator puts faults right, resumes what
    is held back, reconciles what was restored, and sends what was left to a person. Nobody does
    anything else.
    """
    if hands.edition is None:
        hands.publish()
    for _ in range(WHILES_AT_MOST):
        if hands.is_another_database():
            database_identity.check_identity()
        hands.work()
        if _is_over(hands):
            return
        _operate(hands)
        hands.time_passes(A_LONG_WHILE_S)
        hands.tell_the_provider("search_catches_up")
    raise NeverDoneError(f"still {hands.state()} after {WHILES_AT_MOST} whiles: {hands.counts()}")


def _operate(hands: Hands) -> None:
    edition, counts = hands.the_edition.pk, hands.counts()
    if counts.unreconciled:
        hands.reconcile()
    elif counts.control in {"paused", "stopped"}:
        hands.tell_the_provider("set_right")
        control.resume(edition)
    if counts.missed:
        control.send_to_missed(edition, batch_size=settings.DELIVERY_BATCH_SIZE)
    if counts.parked_batches:
        control.resend_unknown(edition)


def _is_over(hands: Hands) -> bool:
    counts = hands.counts()
    return hands.state() in ENDED and not (counts.waiting or counts.unknown)

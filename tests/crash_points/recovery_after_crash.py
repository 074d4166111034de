"""Recovery after a crash: time passes, and other workers continue as usual."""

from django.conf import settings

from delivery.queue import edition_control
from delivery.reconcile import database_identity
from delivery.rules.edition_state import EditionState
from tests.crash_points.actions import Hands

# This is longer than a lease plus its call, and longer than any wait for a retry or a look-up.
A_LONG_WHILE_S = 2000.0
ENDED = {EditionState.SUCCEEDED, EditionState.CANCELLED, EditionState.CLOSED}
# Each round recovers, looks up or sends something. No scenario needs this many rounds.
WHILES_AT_MOST = 12


class NeverDoneError(Exception):
    """Copies or batches were still open after the longest recovery."""


def recover(hands: Hands) -> None:
    """Let a worker run and time pass until nothing is open.

    An author who got no answer posts the form again. An operator fixes faults, resumes paused
    editions, reconciles a restored database, and decides on batches that wait for a decision.
    Authors and operators do nothing else.
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
        hands.ask_provider("search_catches_up")
    raise NeverDoneError(f"still {hands.state()} after {WHILES_AT_MOST} rounds: {hands.counts()}")


def _operate(hands: Hands) -> None:
    edition, counts = hands.the_edition.pk, hands.counts()
    if counts.unreconciled:
        hands.reconcile()
    elif counts.control in {"paused", "stopped"}:
        hands.ask_provider("fix_faults")
        edition_control.resume(edition)
    if counts.missed:
        edition_control.send_to_missed(edition, batch_size=settings.DELIVERY_BATCH_SIZE)
    if counts.parked_batches:
        # Copies of a cancelled edition can only count as sent.
        if hands.stage.counts_as_sent or counts.control == "cancelled":
            hands.count_as_sent()
        else:
            hands.resend_unknown()


def _is_over(hands: Hands) -> bool:
    counts = hands.counts()
    # A welcome letter has succeeded even if it missed a reader, because its page can send the
    # letter to this reader again.
    missed = counts.missed and hands.state() is EditionState.SUCCEEDED
    return hands.state() in ENDED and not (counts.waiting or counts.unknown or missed)

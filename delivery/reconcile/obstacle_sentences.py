"""The words for what keeps an edition from being reconciled."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from delivery.reconcile.compare import Obstacle

_SENTENCES: Mapping[Obstacle, str] = {
    Obstacle.COUNTS_DO_NOT_BALANCE: (
        "The counts do not balance, so what Postmark shows could not be recorded. Run "
        "`./homing audit {issue}`, and reconcile again once they do."
    ),
    Obstacle.FORGOTTEN_BY_PROVIDER: (
        "Mail may have gone out so long ago that Postmark has forgotten it "
        "(POSTMARK_RETENTION_DAYS), so nobody can tell who got it. Cancel the edition."
    ),
    Obstacle.TOO_EARLY: (
        "Postmark's search may not show mail that has just gone out. It counts from "
        "{at:%Y-%m-%d %H:%M:%S} UTC on."
    ),
    Obstacle.SEARCH_LAGS: (
        "Postmark's search does not show mail that is recorded as accepted: it lags, or "
        "POSTMARK_SERVER_TOKEN belongs to another server."
    ),
    Obstacle.SEARCH_INCOMPLETE: (
        "Postmark's search did not show all that it says it has. Run the command again; if that "
        "does not help, cancel the edition."
    ),
}


def obstacle_sentence(obstacle: Obstacle, issue: UUID, reconcilable_at: datetime) -> str:
    """What keeps an edition of this issue from being reconciled, and what to do."""
    return _SENTENCES[obstacle].format(issue=issue, at=reconcilable_at)

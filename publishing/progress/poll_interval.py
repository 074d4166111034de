"""The pauses between polls of open pages. Pure.

They are longer if nothing is new or many pages are open.
"""

from datetime import datetime

from delivery.rules.edition_state import EditionState
from publishing.editions.edition_status import EditionStatus
from publishing.progress.edition_progress import is_at_rest

SOON_S = 2.0
# The pause if nothing was new, its growth from poll to poll, and its limit.
QUIET_S, GROWS_BY, LONGEST_S = 10.0, 1.5, 60.0
# During a send, the pause is the time left divided by `STEPS`, at most `LONGEST_STEP_S`.
STEPS, LONGEST_STEP_S = 60, 10.0
STARTING_S = 30
# The pauses of the desk: while something is being sent, and otherwise.
DESK_S, DESK_IDLE_S = 4.0, 30.0
# The readings a second for all pages together.
READINGS_PER_S = 2
# Without scripts, the browser reloads the whole page.
RELOAD_AT_LEAST_S = 5


def ask_again_s(
    status: EditionStatus, *, hidden: bool = False, unchanged: int = 0, pages: int = 1
) -> float | None:
    """Return seconds until the next poll, None for never.

    `unchanged` polls brought no news.
    """
    if is_at_rest(status):
        return None
    pause = LONGEST_S if hidden else _pause_where_seen(status, unchanged)
    return round(max(pause, pages / READINGS_PER_S), 1)


def ask_desk_again_s(*, is_sending: bool, hidden: bool = False, unchanged: int = 0) -> float:
    """Return seconds until an open desk polls again."""
    if hidden:
        return LONGEST_S
    return min(LONGEST_S, (DESK_S if is_sending else DESK_IDLE_S) * GROWS_BY ** min(unchanged, 10))


def reload_s(status: EditionStatus) -> int | None:
    """Return seconds until a page without scripts reloads."""
    pause = ask_again_s(status)
    return None if pause is None else max(RELOAD_AT_LEAST_S, round(pause))


def _pause_where_seen(status: EditionStatus, unchanged: int) -> float:
    """Return the pause of a visible page, longer if nothing is new."""
    pause = _pause(status)
    if unchanged > 0:
        pause = max(pause, min(LONGEST_S, QUIET_S * GROWS_BY ** (min(unchanged, 20) - 1)))
    # Poll in time for an event whose time is known.
    return min(pause, max(SOON_S, _until_something_happens(status) + 0.5))


def _pause(status: EditionStatus) -> float:
    counts = status.counts
    match status.state:
        case EditionState.HELD:
            return SOON_S
        case EditionState.PAUSED | EditionState.NEEDS_ATTENTION | EditionState.SCHEDULED:
            return QUIET_S
    if _until_something_happens(status) <= QUIET_S:
        return SOON_S
    if status.eta_s is not None:
        return min(LONGEST_STEP_S, max(SOON_S, status.eta_s / STEPS))
    starting = (counts.now - counts.held_until).total_seconds() < STARTING_S
    return SOON_S if starting else LONGEST_STEP_S / 2


def _until_something_happens(status: EditionStatus) -> float:
    counts = status.counts
    times: list[datetime | None] = []
    if status.state is EditionState.HELD:
        times.append(counts.held_until)
    elif status.state is EditionState.SCHEDULED and counts.scheduled:
        times.append(counts.scheduled.utc)
    elif status.state is EditionState.SENDING:
        times += [counts.next_try_at, counts.next_lookup_at]
    return min(
        ((at - counts.now).total_seconds() for at in times if at is not None and at > counts.now),
        default=float("inf"),
    )

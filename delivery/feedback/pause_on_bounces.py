"""Pause a newsletter with too many bounces or complaints since its last resume.

Confirmations never pause, because invented addresses in the sign-up form must not stop them.
Postmark requires bounces under 10 %. Gmail and Yahoo require complaints under 0.3 %, better under
0.1 %.
"""

from collections.abc import Mapping
from typing import NamedTuple

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from delivery.models import Alarm
from delivery.monitoring.alarms import raise_alarm
from delivery.queue.batches.roll_up import COUNTED_BATCHES
from delivery.queue.edition_control import pause_automatically
from delivery.rules.reason import Reason, ReasonCode


class Limit(NamedTuple):
    """A percentage, and the least number of bounces or complaints at which it applies."""

    percent: float
    least: int


def find_exceeded_rate(left: int, rates: Mapping[ReasonCode, tuple[int, Limit]]) -> Reason | None:
    """Find the first rate that reaches its limit, if any.

    `left` is the number of copies sent since the last resume. `rates` has the number of bounces or
    complaints and its limit, by the reason for the pause.
    """
    for code, (count, limit) in rates.items():
        percent = 100 * count / left if left else 0.0
        if left and count >= limit.least and percent >= limit.percent:
            return Reason.of(code, count=count, left=left, percent=percent, limit=limit.percent)
    return None


def pause_if_over_threshold(cursor: CursorWrapper, edition: int) -> bool:
    """Pause the locked edition and raise an alarm if the edition's rates are too high.

    Returns whether the edition was paused.
    """
    # Deliveries in flight or unknown count as sent, because a bounce may come before the reply.
    cursor.execute(
        f"""
        SELECT sum(sent + unknown + CASE state WHEN 'sending' THEN waiting ELSE 0 END)
                   - watched_left,
               sum(bounced) - watched_bounced, sum(complained) - watched_complained,
               sum(CASE state WHEN 'sending' THEN 0 ELSE waiting END), watched_left
        FROM edition JOIN {COUNTED_BATCHES} ON batch.edition_id = edition.id
        WHERE edition.id = %s AND kind = 'newsletter' AND control = 'running'
        GROUP BY edition.id
        """,  # noqa: S608 -- a constant
        [edition],
    )
    row = cursor.fetchone()
    if row is None:
        return False
    left, bounced, complained, waiting, since = map(int, row)
    complaints = Limit(
        settings.DELIVERY_SURGE_COMPLAINTS_PERCENT, settings.DELIVERY_SURGE_COMPLAINTS_LEAST
    )
    bounces = Limit(settings.DELIVERY_SURGE_BOUNCES_PERCENT, settings.DELIVERY_SURGE_BOUNCES_LEAST)
    # If both rates are too high, complaints are the reason for the pause.
    rates = {
        ReasonCode.COMPLAINT_RATE: (complained, complaints),
        ReasonCode.BOUNCE_RATE: (bounced, bounces),
    }
    reason = find_exceeded_rate(left, rates) if waiting else None
    if reason is None:
        return False
    pause_automatically(cursor, edition, reason)
    raise_alarm(
        cursor, edition, Alarm.Kind.BOUNCE_THRESHOLD, f"{reason.code} after {since}", reason
    )
    return True

"""Find recipients who were mailed or will be mailed.

When an import is undone, these recipients are kept.
"""

from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from delivery.models import Edition
from delivery.plan_methods import SCANS, plan_without

# Each copy is found by the first two columns of the key, because there is no index by recipient
# alone.
_ISSUES = f"""
    SELECT issue_id FROM (SELECT DISTINCT issue_id FROM edition WHERE kind <> '{Edition.Kind.TEST}')
           AS issue
     WHERE EXISTS (SELECT FROM delivery WHERE delivery.issue_id = issue.issue_id
                      AND recipient_id BETWEEN %s AND %s OFFSET 0)
"""  # noqa: S608 -- constants, like the others
_DELIVERIES = """
      FROM unnest(%(issues)s::uuid[]) AS of (issue), LATERAL (
           SELECT * FROM delivery
            WHERE issue_id = of.issue AND recipient_id BETWEEN %(first)s AND %(last)s OFFSET 0
           ) AS copy JOIN edition USING (issue_id, version)
"""
# This lock delays the start of a call until the transaction ends. If a call has already started,
# the state of its batch has changed.
_LOCK_BATCHES = f"""
    SELECT count(*) FROM (
        SELECT FROM batch WHERE id IN (
            SELECT batch_id {_DELIVERIES} WHERE outcome = 'waiting' AND kind <> 'newsletter')
         ORDER BY id FOR SHARE) AS locked
"""  # noqa: S608
_MAILED = f"""
    SELECT recipient_id {_DELIVERIES} LEFT JOIN batch ON batch.id = batch_id
     GROUP BY recipient_id
    HAVING bool_or(outcome <> 'withdrawn' AND (
               kind = 'newsletter' OR outcome <> 'waiting'
               OR sent_at IS NOT NULL OR provider_message_id IS NOT NULL
               OR batch.state NOT IN ('ready', 'claimed', 'paused')))
"""
# An edition may be enqueued a while after its transaction began.
_DROPPED = """
    SELECT max(published_at) + interval '1 day' FROM edition
     WHERE kind = 'newsletter' AND audience > 0 AND deliveries_dropped_at IS NOT NULL
"""


class Mailed(NamedTuple):
    """The mailed recipients of a range of ids.

    `issues` are the issues with copies for some of these recipients. Copies of editions before
    `dropped_until` were dropped, so readers who were confirmed before that time may have been
    mailed.
    """

    recipients: frozenset[int]
    issues: list[UUID]
    dropped_until: datetime | None


def load_mailed(first: int, last: int) -> Mailed:
    """Load who was mailed among the recipients `first` to `last`.

    The caller's transaction must have called `wait_for_enqueues`. Until this transaction ends, no
    edition is enqueued and no call for a waiting copy starts, so the result stays true
    (docs/decisions/0040-undo-of-an-import.md).
    """
    # Without statistics, PostgreSQL would scan the deliveries of all issues.
    with connection.cursor() as cursor, plan_without(cursor, *SCANS):
        cursor.execute(_ISSUES, [first, last])
        issues = [issue for (issue,) in cursor.fetchall()]
        mailed: frozenset[int] = frozenset()
        if issues:
            values: dict[str, Any] = {"issues": issues, "first": first, "last": last}
            cursor.execute(_LOCK_BATCHES, values)
            cursor.execute(_MAILED, values)
            mailed = frozenset(recipient for (recipient,) in cursor.fetchall())
        cursor.execute(_DROPPED)
        (dropped_until,) = cursor.fetchone()
    return Mailed(mailed, issues, dropped_until)

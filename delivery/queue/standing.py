"""
Reads how everything stands that sends mail, in a few statements that cost the same however much was
ever sent: each goes through an index that holds only what is not over, or through a few rows.
"""

from __future__ import annotations

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from delivery.pace import slowed_to
from delivery.queue.books import all_books
from delivery.queue.health import EVENTS_LOOKED_AT
from delivery.queue.identity import IS_THE_KNOWN_DATABASE
from delivery.queue.pace import SLOWING, slowing_in
from delivery.queue.presence import heard
from delivery.queue.provider_event import TRIES
from delivery.queue.scheduled import IS_DUE
from delivery.standing import Standing

# Their books are a sum over their batches each.
MOST_EDITIONS = 50

BATCHES = """
    SELECT state, count(*), sum(waiting), sum(unknown),
           extract(epoch FROM clock_timestamp() - min(due_at)
               FILTER (WHERE state = 'ready' AND due_at <= clock_timestamp()))::float8,
           extract(epoch FROM clock_timestamp() - min(doubt_since))::float8
    FROM batch JOIN edition ON edition.id = edition_id
    WHERE state <> 'done' AND NOT (state = 'parked' AND control = 'closed')
    GROUP BY state
"""

# What has batches that are not over, and what is held back before it has any.
EDITIONS = """
    SELECT edition.id FROM edition
    JOIN (SELECT edition_id AS id FROM batch WHERE state <> 'done' OR missed > 0
          UNION
          SELECT id FROM edition WHERE control IN ('scheduled', 'paused', 'stopped')) AS open
         USING (id)
    WHERE control <> 'closed' OR EXISTS (SELECT FROM batch WHERE edition_id = edition.id
                                           AND state <> 'done' AND state <> 'parked')
    ORDER BY edition.id DESC LIMIT %s
"""

HELD_BACK = f"""
    SELECT count(*) FILTER (WHERE {IS_DUE}),
           count(*) FILTER (WHERE unreconciled_since IS NOT NULL)
    FROM edition WHERE control IN ('scheduled', 'paused', 'stopped')
"""  # noqa: S608 -- a constant

BESIDE = f"""
    SELECT NOT {IS_THE_KNOWN_DATABASE},
           (SELECT count(*) FROM provider_event WHERE applied_at IS NULL AND failures < {TRIES}),
           (SELECT count(*) FROM provider_event WHERE applied_at IS NULL AND failures >= {TRIES}),
           (SELECT extract(epoch FROM clock_timestamp()
                       - max(received_at) FILTER (WHERE trace IS NOT NULL))::float8
            FROM (SELECT received_at, trace FROM provider_event
                  ORDER BY id DESC LIMIT {EVENTS_LOOKED_AT}) AS newest),
           slowing.*
    FROM (SELECT 1) AS one LEFT JOIN (SELECT {SLOWING} FROM pace) AS slowing ON true
"""  # noqa: S608 -- constants

ALARMS = "SELECT kind, count(*) FROM alarm WHERE looked_at IS NULL GROUP BY kind"
ERRANDS = "SELECT name, failures FROM errand ORDER BY name LIMIT 20"


def standing(cursor: CursorWrapper) -> Standing:
    """How everything stands now."""
    cursor.execute(BATCHES)
    batches = cursor.fetchall()
    cursor.execute(EDITIONS, [MOST_EDITIONS])
    open_editions = [row[0] for row in cursor.fetchall()]
    cursor.execute(HELD_BACK)
    editions_due, unreconciled = cursor.fetchone()
    cursor.execute(BESIDE)
    differs, pending, set_aside, webhook_age_s, *slowing = cursor.fetchone()
    cursor.execute(ALARMS)
    alarms = dict(cursor.fetchall())
    cursor.execute(ERRANDS)
    errands = dict(cursor.fetchall())
    return Standing(
        batches={state: number for state, number, *_ in batches},
        waiting=sum(int(waiting) for _, _, waiting, *_ in batches),
        unknown=sum(int(unknown) for _, _, _, unknown, *_ in batches),
        due_age_s=max((age for *_, age, _ in batches if age is not None), default=None),
        doubt_age_s=max((age for *_, age in batches if age is not None), default=None),
        editions=tuple(all_books(among=open_editions)) if open_editions else (),
        editions_due=editions_due,
        unreconciled=unreconciled,
        identity_differs=differs,
        workers=heard(cursor),
        slowed_to_per_s=slowed_to(slowing_in(slowing), settings.DELIVERY_RATE_PER_S),
        alarms=alarms,
        events_pending=pending,
        events_set_aside=set_aside,
        webhook_age_s=webhook_age_s,
        errands=errands,
    )

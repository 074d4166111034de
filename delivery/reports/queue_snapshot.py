"""A snapshot of the queue for /metrics; its cost does not grow with the history."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.backends.utils import CursorWrapper

from delivery.feedback.event_inbox import MAX_FAILURES
from delivery.monitoring.worker_heartbeat import WorkerActivity, load_activity
from delivery.queue.batches.batch_state import IS_CRASHING
from delivery.queue.scheduled_editions import IS_DUE
from delivery.queue.shared_send_rate import SLOWDOWN_COLUMNS
from delivery.reports.load_edition_counts import (
    load_all_counts,
    load_open_counts,
    pop_slowed_to,
    rows_by_name,
)
from delivery.reports.sending_health import NEWEST_WEBHOOK_AT
from delivery.rules.edition_counts import EditionCounts
from delivery.tasks.periodic_task_lease import IS_ACTIVE

MAX_EDITIONS = 50
# The number is limited, because the counts of each newsletter are a sum over all its batches.
MAX_NAMED = 10

# These counts leave out the unknown deliveries of ended editions, which are no longer looked up.
BATCHES = f"""
    SELECT state, count(*), sum(waiting), sum(unknown),
           extract(epoch FROM clock_timestamp() - min(due_at)
               FILTER (WHERE state = 'ready' AND due_at <= clock_timestamp()))::float8,
           -- The call of a killed worker is unknown before its deadline, from which this counts.
           greatest(0, extract(epoch FROM clock_timestamp() - min(unknown_since)))::float8,
           count(*) FILTER (WHERE {IS_CRASHING})
    FROM batch JOIN edition ON edition.id = edition_id
    WHERE batch_is_open_1(batch) AND state <> 'done'
      AND NOT (state = 'parked' AND control IN ('closed', 'cancelled'))
    GROUP BY state
"""  # noqa: S608 -- a constant

# Open editions, with the paused and stopped editions first. Missed deliveries count only for
# newsletters, because readers request transactional mail again, and a failed test letter has ended.
EDITIONS = """
    WITH not_over AS (
        SELECT edition_id AS id, bool_or(state <> 'done') AS is_open,
               bool_or(state <> 'done' AND state <> 'parked') AS moves
        FROM batch WHERE batch_is_open_1(batch) GROUP BY edition_id
    )
    SELECT id, kind = 'newsletter' AS is_letter, control IN ('paused', 'stopped') AS is_held_back
    FROM not_over,
         -- OFFSET makes the planner look each one up by its key.
         LATERAL (SELECT kind, control FROM edition WHERE edition.id = not_over.id OFFSET 0) AS its
    WHERE CASE control WHEN 'closed' THEN moves
                       WHEN 'cancelled' THEN is_open
                       ELSE is_open OR kind = 'newsletter' END
    UNION
    SELECT id, kind = 'newsletter', control IN ('paused', 'stopped')
    FROM edition WHERE control IN ('scheduled', 'paused', 'stopped')
    ORDER BY is_held_back DESC, is_letter DESC, id DESC LIMIT %s
"""

HELD_BACK = f"""
    SELECT count(*) FILTER (WHERE {IS_DUE}) AS editions_due,
           count(*) FILTER (WHERE unreconciled_since IS NOT NULL) AS unreconciled
    FROM edition WHERE control IN ('scheduled', 'paused', 'stopped')
"""  # noqa: S608 -- a constant

BESIDE = f"""
    SELECT NOT is_known_database_1() AS identity_differs,
           pending.*,
           (SELECT count(*) FROM provider_event
            WHERE applied_at IS NULL AND failures >= {MAX_FAILURES}) AS events_failed,
           extract(epoch FROM clock_timestamp() - {NEWEST_WEBHOOK_AT})::float8 AS webhook_age_s,
           slowdown.*
    FROM (SELECT count(*) AS events_pending,
                 extract(epoch FROM clock_timestamp() - min(received_at))::float8
                     AS events_pending_age_s
          FROM provider_event WHERE applied_at IS NULL AND failures < {MAX_FAILURES}) AS pending
    LEFT JOIN (SELECT {SLOWDOWN_COLUMNS} FROM send_rate) AS slowdown ON true
"""  # noqa: S608 -- constants

ALARMS = "SELECT kind, count(*) FROM alarm WHERE seen_at IS NULL GROUP BY kind"
TASKS = f"""
    SELECT name, failures FROM periodic_task WHERE {IS_ACTIVE} ORDER BY name LIMIT 20
"""  # noqa: S608 -- a constant


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """The waiting work with its age (in seconds, or None), and the faults.

    `editions` are the counts of at most `MAX_EDITIONS` open editions. These counts include only
    open batches, which is enough to derive the state of each edition. `newest` are the full counts
    of the newest `MAX_NAMED` newsletters among these editions. `tasks` has the failures of each
    periodic task.
    """

    batches: Mapping[str, int]
    waiting: int
    unknown: int
    due_age_s: float | None
    unknown_age_s: float | None
    crashing: int
    editions: tuple[EditionCounts, ...]
    newest: tuple[EditionCounts, ...]
    editions_due: int
    unreconciled: int
    identity_differs: bool
    workers: WorkerActivity
    slowed_to_per_s: float | None
    alarms: Mapping[str, int]
    events_pending: int
    events_pending_age_s: float | None
    events_failed: int
    webhook_age_s: float | None
    tasks: Mapping[str, int]


def read_snapshot(cursor: CursorWrapper) -> QueueSnapshot:
    """Read the snapshot."""
    cursor.execute(BATCHES)
    batches = cursor.fetchall()
    cursor.execute(EDITIONS, [MAX_EDITIONS])
    found = cursor.fetchall()
    named = sorted((edition for edition, is_letter, _ in found if is_letter), reverse=True)
    cursor.execute(HELD_BACK)
    (held_back,) = rows_by_name(cursor)
    cursor.execute(BESIDE)
    (beside,) = rows_by_name(cursor)
    cursor.execute(ALARMS)
    alarms = dict(cursor.fetchall())
    cursor.execute(TASKS)
    tasks = dict(cursor.fetchall())
    return QueueSnapshot(
        batches={state: number for state, number, *_ in batches},
        waiting=sum(int(waiting) for _, _, waiting, *_ in batches),
        unknown=sum(int(unknown) for _, _, _, unknown, *_ in batches),
        due_age_s=max((age for *_, age, _, _ in batches if age is not None), default=None),
        unknown_age_s=max((age for *_, age, _ in batches if age is not None), default=None),
        crashing=sum(crashing for *_, crashing in batches),
        editions=tuple(load_open_counts([edition for edition, *_ in found])) if found else (),
        newest=tuple(load_all_counts(named[:MAX_NAMED])) if named else (),
        **held_back,
        workers=load_activity(cursor),
        slowed_to_per_s=pop_slowed_to(beside),
        alarms=alarms,
        tasks=tasks,
        **beside,
    )

"""Load the counts of editions, as sums over their batches, and find open editions."""

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Sum
from django.db.models.functions import Coalesce

from delivery.models import Batch
from delivery.models.attempt import NO_BATCH
from delivery.models.batch import OPEN
from delivery.monitoring.database_fault import IS_READ_ONLY, READ_ONLY
from delivery.monitoring.worker_heartbeat import WORKERS, shared_write_fault
from delivery.queue.batches.batch_state import IS_CRASHING
from delivery.queue.batches.roll_up import ROLLED_UP
from delivery.queue.scheduled_editions import IS_DUE
from delivery.queue.shared_send_rate import SLOWDOWN_COLUMNS, SLOWDOWN_NAMES, slowdown_from
from delivery.rules.edition_counts import EditionCounts
from delivery.rules.reason import Reason
from delivery.rules.scheduled_time import ScheduledTime
from delivery.rules.send_rate import slowed_to

# A scheduled edition counts as open once it is due, or if a restored database does not know whether
# it was sent. Missed transactional copies do not make an edition open, because their readers
# request the mail again.
IS_OPEN_EDITION = f"""(control = 'stopped' OR {IS_DUE}
    OR control = 'scheduled' AND unreconciled_since IS NOT NULL
    OR EXISTS (SELECT FROM batch
               WHERE batch.edition_id = edition.id AND batch_is_open_1(batch)
                 AND CASE control WHEN 'cancelled' THEN state <> 'done'
                                  WHEN 'closed' THEN state NOT IN ('done', 'parked')
                                  ELSE state <> 'done' OR kind = 'newsletter' END))"""


def load_open_newsletters() -> list[int]:
    """Load the ids of open, due or unreconciled newsletters, the oldest first."""
    return _ids(
        f"SELECT id FROM edition WHERE kind = 'newsletter' AND {IS_OPEN_EDITION} ORDER BY id"  # noqa: S608
    )


def load_held_transactional() -> list[int]:
    """Load the ids of transactional editions that may need a decision.

    Editions that are being sent normally are left out: there is nearly always such an edition, and
    it has many batches.
    """
    return _ids(
        "SELECT id FROM edition WHERE kind <> 'newsletter'"
        " AND (control <> 'running' OR unreconciled_since IS NOT NULL OR EXISTS"
        " (SELECT FROM batch WHERE batch.edition_id = edition.id"
        " AND batch_is_open_1(batch) AND state IN ('parked', 'paused'))) ORDER BY id"
    )


def _ids(query: str) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return [row[0] for row in cursor.fetchall()]


# The seconds over which the rate is measured: enough for a steady rate, but few enough for a
# current rate.
_RATE_OVER_S = 60

OUTCOMES = ("sent", "suppressed", "withdrawn", "failed", "unknown", "waiting")
_SUMMED = (*OUTCOMES, "missed", "bounced", "complained")
_FROM_STATE = ("being_sent", "awaiting_decision", "leased_batches", "queued_batches",
               "parked_batches", "paused_batches", "crashing")  # fmt: skip


_COUNTED = ("size", *_SUMMED)
_STATES = ",".join(Batch.State.values)
_OF_A_STATE = f"""count(*) AS batches, {", ".join(f"sum({name}) AS {name}" for name in _COUNTED)},
            min(nullif(reason, '')) AS reason, min(due_at) AS due_at,
            min(unknown_since) AS unknown_since,
            count(*) FILTER (WHERE {IS_CRASHING}) AS crashing"""
_TOTALS = ", ".join(f"sum({name})" if name in ROLLED_UP else "0" for name in _COUNTED)

# The batches of an edition by state. One scan of the index for each state is twice as fast as
# comparing the states of all rows. A rolled-up batch is done.
_ALL_BATCHES = f"""
    SELECT one.state, part.* FROM unnest('{{{_STATES}}}'::text[]) AS one (state), LATERAL (
        SELECT {_OF_A_STATE} FROM batch
        WHERE edition_id = edition.id AND batch.state = one.state AND NOT rolled_up) AS part
    UNION ALL
    SELECT 'done', 0, {_TOTALS}, NULL, NULL, NULL, 0 FROM batch_total WHERE edition_id = edition.id
"""  # noqa: S608 -- the names are constants
_OPEN_BATCHES = f"""
    SELECT state, {_OF_A_STATE} FROM batch
    WHERE batch.edition_id = edition.id AND batch_is_open_1(batch) GROUP BY state
"""  # noqa: S608 -- the names are constants


def _select(batches: str) -> str:
    """Write the statement up to its WHERE; `batches` sums the batches by state."""
    return f"""
    SELECT edition.id AS edition, issue_id AS issue, version, title, kind, goes_to,
           with_tags, without_tags,
           control, control_reason, control_at, unreconciled_since IS NOT NULL AS unreconciled,
           published_at, held_until, scheduled_for, scheduled_local, scheduled_zone,
           deliveries_dropped_at,
           CASE WHEN kind = 'newsletter' THEN audience ELSE coalesce(count.size, 0) END AS audience,
           {", ".join(f"coalesce(count.{name}, 0) AS {name}" for name in (*_SUMMED, *_FROM_STATE))},
           coalesce(count.reason, '') AS reason,
           next_try_at, next_lookup_at, unknown_since, worker.heard_at AS worker_heard_at,
           worker.active > 0 AS worker_is_there, worker.active, worker.problems,
           {IS_READ_ONLY} AS is_read_only,
           greatest(
               (SELECT max(finished_at) FROM attempt WHERE attempt.edition_id = edition.id),
               (SELECT max(started_at) FROM attempt
                WHERE attempt.edition_id = edition.id AND finished_at IS NULL)) AS last_call_at,
           (coalesce((SELECT sum(accepted) FROM attempt
                     WHERE attempt.edition_id = edition.id AND batch_id <> {NO_BATCH}
                       AND finished_at > clock_timestamp() - interval '{_RATE_OVER_S} s'), 0)
               / greatest(1, least({_RATE_OVER_S},
                     extract(epoch FROM clock_timestamp() - greatest(held_until, published_at)))
           ))::float8 AS rate_per_s,
           clock_timestamp() AS now, slowdown.*
    FROM edition
    LEFT JOIN LATERAL (
        SELECT {", ".join(f"sum({name})::bigint AS {name}" for name in _COUNTED)},
               sum(waiting) FILTER (WHERE state IN ('claimed', 'sending'))::bigint AS being_sent,
               sum(unknown) FILTER (WHERE state = 'parked')::bigint AS awaiting_decision,
               sum(batches) FILTER (WHERE state IN ('claimed', 'sending', 'looking_up'))::bigint
                   AS leased_batches,
               sum(batches) FILTER (WHERE state IN ('ready', 'unknown'))::bigint AS queued_batches,
               sum(batches) FILTER (WHERE state = 'parked')::bigint AS parked_batches,
               sum(batches) FILTER (WHERE state = 'paused')::bigint AS paused_batches,
               sum(crashing)::bigint AS crashing,
               min(reason) FILTER (WHERE state IN ('ready', 'unknown', 'parked')) AS reason,
               min(due_at) FILTER (WHERE state = 'ready') AS next_try_at,
               min(due_at) FILTER (WHERE state = 'unknown') AS next_lookup_at,
               min(unknown_since) AS unknown_since
        FROM ({batches}) AS by_state
    ) AS count ON true
    CROSS JOIN {WORKERS}
    LEFT JOIN (SELECT {SLOWDOWN_COLUMNS} FROM send_rate) AS slowdown ON true
    """  # noqa: S608 -- the names are constants


def load_counts(edition: int) -> EditionCounts:
    """Load the counts of one edition.

    Raises `LookupError` if there is no such edition.
    """
    for counts in load_all_counts([edition]):
        return counts
    raise LookupError(f"There is no edition {edition}.")


def load_counts_of_versions(issue: uuid.UUID, version: int | None = None) -> list[EditionCounts]:
    """Load the counts of all versions of an issue, the newest first.

    Transactional mail has many versions, so only the given `version` is read.
    """
    return _read(
        """
        WHERE issue_id = %(issue)s
          AND (kind = 'newsletter' OR %(version)s::int IS NULL OR version = %(version)s)
        ORDER BY version DESC
        """,
        {"issue": issue, "version": version},
    )


def load_all_counts(
    editions: Sequence[int] | None = None, *, open_only: bool = False
) -> list[EditionCounts]:
    """Load the counts of these editions, or of all editions, the oldest first.

    `open_only` leaves out editions that have ended, and scheduled editions that are not due.
    """
    return _read(
        f"""
        WHERE (%(all)s OR edition.id = ANY(%(editions)s))
          AND (NOT %(open_only)s OR {IS_OPEN_EDITION})
        ORDER BY edition.id
        """,
        {"all": editions is None, "editions": list(editions or ()), "open_only": open_only},
    )


def load_open_counts(editions: Sequence[int]) -> list[EditionCounts]:
    """Load counts from open batches only.

    These counts are enough for `state_of`, but do not include all sent copies.
    """
    return _read(
        "WHERE edition.id = ANY(%(editions)s)",
        {"editions": list(editions)},
        _OPEN_BATCHES,
    )


def _read(
    which: str, values: Mapping[str, Any], batches: str = _ALL_BATCHES
) -> list[EditionCounts]:
    with connection.cursor() as cursor:
        cursor.execute(f"{_select(batches)} {which}", values)
        return [_counts_from(row) for row in rows_by_name(cursor)]


def rows_by_name(cursor: CursorWrapper) -> list[dict[str, Any]]:
    """Return the rows of the last query as dicts, with column names as keys."""
    names = [column.name for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def pop_slowed_to(row: dict[str, Any]) -> float | None:
    """Remove the slowdown's columns from a row; return the slowed rate or None."""
    slowdown = slowdown_from([row.pop(name) for name in SLOWDOWN_NAMES])
    return slowed_to(slowdown, settings.DELIVERY_RATE_PER_S)


def pop_write_fault(row: dict[str, Any], *, active: int) -> Reason | None:
    """Remove the workers' problems from a row; return the fault that stops all writes."""
    problems = [Reason.loads_all(text) for text in row.pop("problems") or ()]
    shared = shared_write_fault(active, problems)
    return READ_ONLY if row.pop("is_read_only") else shared


def _counts_from(row: dict[str, Any]) -> EditionCounts:
    at, local, zone = (row.pop(f"scheduled_{name}") for name in ("for", "local", "zone"))
    row["scheduled"] = ScheduledTime(at, local, zone) if at else None
    row["slowed_to_per_s"] = pop_slowed_to(row)
    row["write_fault"] = pop_write_fault(row, active=row.pop("active"))
    for name in ("control_reason", "reason"):
        row[name] = Reason.loads(row[name])
    for name in ("with_tags", "without_tags"):
        row[name] = tuple(tag for _, tag in json.loads(row[name]))
    return EditionCounts(**row)


def load_open_transactional_batches() -> list[int]:
    """Load the open batches of transactional mail."""
    unfinished = Batch.objects.filter(OPEN).exclude(state=Batch.State.DONE)
    return list(unfinished.exclude(edition__kind="newsletter").values_list("pk", flat=True))


def sum_batches(batches: Sequence[int]) -> dict[str, int]:
    """Sum up these batches: their sizes as `audience`, and the count of each outcome."""
    columns = {"audience": "size", **{name: name for name in OUTCOMES}}
    sums = {name: Coalesce(Sum(column), 0) for name, column in columns.items()}
    return Batch.objects.filter(pk__in=batches).aggregate(**sums)

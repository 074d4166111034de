"""Change many readers: the selected ones, or every reader that a search finds.

The ids of the readers are stored at the start, so a change affects only the readers whom its author
confirmed. Each chunk and its checkpoint are one transaction under the lease of the change, so a
killed worker leaves no half chunk.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, Max, QuerySet

from delivery.tasks.leased_task_columns import TaskState
from delivery.tasks.run_leased_task import ClaimedTask, cancel, run_next
from subscribers.data_requests.erase import erase
from subscribers.desk.reader_filter import ReaderFilter
from subscribers.desk.reader_list import PAGE, matching_readers, time_limit
from subscribers.fields.find_tags import lock_tags
from subscribers.leaving.leave import leave
from subscribers.models import ReaderChange, Subscriber, Tag
from subscribers.models.consent_record import How
from subscribers.record_activity import record_activity, record_readers_activity
from subscribers.suppression.lift_bounces import lift_bounce
from subscribers.suppression.manual_suppression import block

Action = ReaderChange.Action

CHOOSE_S = 20  # the time limit, enough to select all readers of a long list
AT_ONCE = PAGE  # a change of all readers on one page is made before the page answers
CHUNKS: Mapping[str, int] = {
    Action.TAG: 1_000,
    Action.UNTAG: 1_000,
    Action.UNSUBSCRIBE: 100,
    Action.BLOCK: 100,
    Action.LIFT_BOUNCE: 100,
    # Erase one reader in each transaction, because an erasure locks the reader's deliveries before
    # the reader.
    Action.ERASE: 1,
}
_INSERT = """
    INSERT INTO reader_change (key, action, tag_id, tag_name, reason, readers, total, made_by_id)
    SELECT %s, %s, %s, %s, %s, array_agg(id ORDER BY id), count(*), %s FROM ({chosen}) AS chosen
    HAVING count(*) = %s
    ON CONFLICT (key) DO NOTHING
    RETURNING id
"""

# Lock the readers in a separate statement and in the order of their ids, so that two changes never
# wait for each other.
_LOCK = "SELECT FROM subscriber WHERE id = ANY(%(readers)s) ORDER BY id FOR NO KEY UPDATE"
_NEW_TAGS = "tags_without_1(tags_with_1(tags, left_topics, %(added)s), %(removed)s)"
_CHANGE = """
    UPDATE subscriber SET tags = {new_tags}
     WHERE id = ANY(%(readers)s) AND tags <> {new_tags}
"""


class Selection(NamedTuple):
    """The readers with these `ids`; without `ids`, the readers who match `chosen`.

    Readers with an id above `up_to` are excluded, unless `up_to` is 0.
    """

    chosen: ReaderFilter
    ids: Sequence[int] = ()
    up_to: int = 0

    def readers(self) -> QuerySet[Subscriber]:
        found = Subscriber.objects.filter(pk__in=self.ids) if self.ids else None
        found = matching_readers(self.chosen) if found is None else found
        return found.filter(pk__lte=self.up_to) if self.up_to else found


def count_selected(selection: Selection) -> tuple[int, int]:
    """Count the selected readers and find their highest id, within a time limit."""
    with time_limit(CHOOSE_S):
        found = selection.readers().order_by()
        counted = found.aggregate(number=Count("pk"), last=Max("pk"))
    return counted["number"], counted["last"] or 0


def start_change(
    key: UUID,
    action: str,
    tag: Tag | None,
    selection: Selection,
    expected: int,
    by: UUID,
    *,
    reason: str = "",
) -> ReaderChange | None:
    """Store a change of `expected` readers; None if more or fewer are selected.

    A repeated `key` returns the earlier change. Lifting bounces needs a `reason`.
    """
    with time_limit(CHOOSE_S), connection.cursor() as cursor:
        chosen = selection.readers().order_by().values("id")
        sql, parameters = chosen.query.sql_with_params()
        tag_id, name = (tag.pk, tag.name) if tag else (None, "")
        values = [key, action, tag_id, name, reason, by, *parameters, expected]
        cursor.execute(_INSERT.format(chosen=sql), values)
        if cursor.fetchone() is not None:
            record_readers_activity(action, by, readers=expected, tag=name, reason=reason)
    return ReaderChange.objects.defer("readers").filter(key=key, made_by=by).first()


def run_at_once(change: ReaderChange) -> None:
    """Make a small change before the page answers. Workers make larger changes."""
    while change.total <= AT_ONCE and run_chunk(pk=change.pk):
        pass


def run_chunk(*, pk: int | None = None) -> bool:
    """Run the next chunk of the oldest due change, or of the change with this `pk`.

    Return False if no change is due. Each call runs only one chunk, because the same thread of the
    worker also runs imports. A change whose chunk failed waits, and other changes run before it.
    """
    return run_next(ReaderChange, _run_chunk, pk=pk)


def _run_chunk(running: ClaimedTask[ReaderChange]) -> None:
    change = running.task
    first, last = change.done + 1, change.done + CHUNKS[change.action]
    with running.step() as cursor:
        running.hold()
        cursor.execute(
            "SELECT readers[%s:%s] FROM reader_change WHERE id = %s", [first, last, change.pk]
        )
        (readers,) = cursor.fetchone()
        changed = change.changed + _apply(change, readers)
        done = {"done": change.done + len(readers), "changed": changed}
        if done["done"] == change.total:
            running.end(TaskState.FINISHED, **done)
        else:
            running.checkpoint(**done)


@transaction.atomic
def stop_change(change: ReaderChange, by: UUID) -> bool:
    """Stop a change before its next chunk; return False if the change has ended."""
    if not cancel(change):
        return False
    change.refresh_from_db(fields=["done", "changed", "state"])
    numbers = {"changed": change.changed, "total": change.total}
    record_activity("stop_change", by, Subscriber, name="readers", **numbers)
    return True


def change_tags(
    readers: Sequence[int], *, added: Sequence[int] = (), removed: Sequence[int] = ()
) -> int:
    """Change the tags of these readers; return how many readers changed.

    A topic that a reader left is not added.
    """
    values = {"readers": [*readers], "added": lock_tags(added), "removed": [*removed]}
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, values)
        cursor.execute(_CHANGE.format(new_tags=_NEW_TAGS), values)
        return int(cursor.rowcount)


def _apply(change: ReaderChange, readers: Sequence[int]) -> int:
    tags = [] if change.tag_id is None else [change.tag_id]
    if change.action == Action.TAG:
        return change_tags(readers, added=tags)
    if change.action == Action.UNTAG:
        return change_tags(readers, removed=tags)
    if change.action == Action.LIFT_BOUNCE:
        return sum(lift_bounce(reader, change.reason) for reader in readers)
    return sum(map(_ON_ONE_READER[change.action], readers))


_ON_ONE_READER: Mapping[str, Callable[[int], bool]] = {
    Action.UNSUBSCRIBE: lambda reader: leave(reader, How.OPERATOR),
    Action.BLOCK: block,
    Action.ERASE: erase,
}

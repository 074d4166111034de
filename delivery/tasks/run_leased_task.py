"""Run a task under a lease: claim, heartbeat, checkpoint, stop, error and end.

Every transition is one guarded statement that uses the database's clock. A worker changes nothing
after another worker has claimed its task, or after the task was cancelled.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID, uuid4

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Now

from delivery.tasks.leased_task_columns import LeasedTask, TaskState
from delivery.tasks.periodic_task_lease import TaskInterruptedError
from delivery.tasks.separate_process import SeparateTask

logger = logging.getLogger(__name__)

Task = TypeVar("Task", bound=LeasedTask)

FIRST_RETRY_S = 2.0  # the first wait after an error; later waits double, up to a lease's length
NO_LEASE: dict[str, Any] = {"owner": None, "lease_until": None}
_IS_FREE = Q(lease_until=None) | Q(lease_until__lt=Now())
# These settings make the server end the transaction of a frozen process. The server also ends a
# wait for a lock if the waiting process was killed.
_LIMIT_TRANSACTION = (
    "SELECT set_config('idle_in_transaction_session_timeout', %s, true),"
    " set_config('client_connection_check_interval', '1s', true)"
)


class TaskRefusedError(Exception):
    """The task cannot be done. `code` and `parameters` say why."""

    def __init__(self, code: str, **parameters: Any) -> None:
        super().__init__(code)
        self.code, self.parameters = code, parameters


class ClaimedTask(Generic[Task]):
    """A task that this process has claimed.

    The task's work reports its progress through this object.
    """

    def __init__(self, task: Task, is_stopping: Callable[[], bool] = lambda: False) -> None:
        self.task = task
        self._owner = task.owner
        self._is_stopping = is_stopping
        self.is_held = True

    def heartbeat(self, **columns: Any) -> None:
        """Renew the lease, set these columns, and stop the work if the worker stops.

        Raises `TaskInterruptedError` if the worker stops, the task was cancelled, or the task has
        another owner.
        """
        if self._is_stopping():
            raise TaskInterruptedError
        self._renew(columns)

    def step(self) -> AbstractContextManager[CursorWrapper]:
        """Open the transaction of a step.

        If the process freezes, the server ends this transaction, and the lease expires.
        """
        return _limited_transaction(type(self.task))

    def hold(self) -> None:
        """Renew the lease and lock the row until the end of the step.

        While the row is locked, nobody can cancel or claim the task. Raises `TaskInterruptedError`.
        """
        self._renew({})

    def checkpoint(self, **columns: Any) -> None:
        """Save progress, in the transaction of its step. Raises `TaskInterruptedError`."""
        self._renew({"claims": 0, **columns})

    def end(self, state: str, **columns: Any) -> None:
        """End the task in this state. Raises `TaskInterruptedError`."""
        with self.step():
            self._update({"state": state, "finished_at": Now(), **NO_LEASE, **columns})
            self.task.clear(state)
        self.task.state, self.is_held = state, False

    def refuse(self, refusal: TaskRefusedError) -> None:
        """End the task for this reason. Raises `TaskInterruptedError`."""
        error = {"code": refusal.code, "parameters": refusal.parameters}
        self.end(TaskState.REFUSED, error=error)

    def release(self) -> None:
        """Let any worker claim the task at once.

        Do nothing if this worker has lost the task.
        """
        is_running = When(state=TaskState.RUNNING, then=Value(TaskState.WAITING))
        self._row().update(state=Case(is_running, default=F("state")), **NO_LEASE)
        self.is_held = False

    def retry_later(self, *, counts: bool = True) -> None:
        """Let any worker claim the task after a wait.

        With `counts`, this claim counts as a claim without progress.
        """
        claims = self.task.claims
        wait_s = min(FIRST_RETRY_S * 2 ** (claims - 1), lease_s(type(self.task)))
        again = claims if counts else claims - 1
        self._row().update(lease_until=Now() + timedelta(seconds=wait_s), claims=again)
        self.is_held = False

    def run(self, work: Callable[["ClaimedTask[Task]"], None]) -> None:
        """Do the work and record how it ended. Unexpected errors of the work are raised."""
        try:
            try:
                if self.task.claims > self.task.most_claims:
                    self._give_up()
                else:
                    work(self)
            except TaskRefusedError as refusal:
                self.refuse(refusal)
            if self.is_held:
                self.release()
        except TaskInterruptedError:
            what = self.task._meta.verbose_name
            sentence = "%s %d was cancelled, has another lease now, or its worker stops"
            logger.info(sentence, what, self.task.pk)
            self.release()
        except BaseException as error:
            # If the database is unavailable, nothing can be recorded, and the lease expires.
            with suppress(DatabaseError, TaskInterruptedError):
                if not isinstance(error, Exception):
                    self.release()
                elif self.task.claims >= self.task.most_claims:
                    self._give_up()
                else:
                    self.retry_later()
            raise

    def _give_up(self) -> None:
        self.end(**self.task.give_up())
        name, claims = self.task._meta.verbose_name, self.task.claims
        logger.error("%s %d is given up after %d tries", name, self.task.pk, claims)

    def _renew(self, columns: dict[str, Any]) -> None:
        length = timedelta(seconds=lease_s(type(self.task)))
        self._update({"lease_until": Now() + length, **columns})

    def _update(self, columns: dict[str, Any]) -> None:
        if not self._row().update(**columns):
            raise TaskInterruptedError
        for name, value in columns.items():
            if name != "state" and not hasattr(value, "resolve_expression"):
                setattr(self.task, name, value)

    def _row(self) -> QuerySet[Task]:
        """Select the row of the task while this process has the task, otherwise nothing."""
        task = self.task
        tasks = type(task)._default_manager.filter(pk=task.pk, state=task.state)
        return tasks.filter(owner=self._owner, epoch=task.epoch)


def run_next(
    kind: type[Task],
    work: Callable[["ClaimedTask[Task]"], None],
    is_stopping: Callable[[], bool] = lambda: False,
    *,
    owner: UUID | None = None,
    pk: int | None = None,
) -> bool:
    """Claim and run the oldest due task, or the task `pk`; False if none is due.

    If the work returns without ending the task, the task is released, and a later claim continues
    it.
    """
    task = claim(kind, owner, pk)
    if task is None:
        return False
    ClaimedTask(task, is_stopping).run(work)
    return True


@contextmanager
def _limited_transaction(kind: type[LeasedTask]) -> Iterator[CursorWrapper]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LIMIT_TRANSACTION, [f"{int(1000 * lease_s(kind))}ms"])
        yield cursor


def claim(kind: type[Task], owner: UUID | None = None, pk: int | None = None) -> Task | None:
    """Claim the oldest free task, or the task with this `pk`."""
    with _limited_transaction(kind):
        free = open_tasks(kind).filter(_IS_FREE).select_for_update(skip_locked=True)
        free = free if pk is None else free.filter(pk=pk)
        found = free.order_by("pk").values_list("pk", flat=True).first()
        if found is None:
            return None
        row = kind._default_manager.filter(pk=found)
        is_waiting = When(state=TaskState.WAITING, then=Value(TaskState.RUNNING))
        row.update(
            state=Case(is_waiting, default=F("state")),
            owner=owner or uuid4(),
            epoch=F("epoch") + 1,
            claims=F("claims") + 1,
            lease_until=Now() + timedelta(seconds=lease_s(kind)),
        )
        # The task is read while its row is locked. Without this lock, a worker that paused here
        # could read the lease of the next worker.
        return row.defer(*kind.LARGE).get()


def separate_task(
    name: str,
    kind: type[Task],
    work: Callable[["ClaimedTask[Task]"], None],
    costly: Callable[[Task], TaskRefusedError | None],
) -> SeparateTask:
    """Make a task whose work runs in a separate process with limits.

    `costly(task)` returns the refusal of a task that exceeded the limits. If `costly` returns None,
    the task is tried again.
    """

    def refuse(owner: UUID) -> None:
        task = open_tasks(kind).filter(owner=owner).defer(*kind.LARGE).first()
        refusal = costly(task) if task else None
        if task and refusal:
            ClaimedTask(task).refuse(refusal)

    def run(owner: UUID, is_stopping: Callable[[], bool]) -> bool:
        return run_next(kind, work, is_stopping, owner=owner)

    return SeparateTask(name, run, lambda: is_claimable(kind), refuse)


def cancel(task: LeasedTask) -> bool:
    """Stop an open task before its next step; False if it has ended.

    The call waits for a step that holds the task, so the task's numbers are exact afterwards.
    """
    ended = {"state": TaskState.CANCELLED, "finished_at": Now(), **NO_LEASE}
    with transaction.atomic():
        if not open_tasks(type(task)).filter(pk=task.pk).update(**ended):
            return False
        task.clear(TaskState.CANCELLED)
        return True


def open_tasks(kind: type[Task]) -> QuerySet[Task]:
    """Select the tasks that a worker has or will claim."""
    return kind._default_manager.filter(state__in=kind.OPEN)


def is_claimable(kind: type[LeasedTask]) -> bool:
    """Whether there is a due task that no worker holds."""
    return open_tasks(kind).filter(_IS_FREE).exists()


def lease_s(kind: type[LeasedTask]) -> float:
    """Return the length of a lease in seconds."""
    return max(settings.DELIVERY_LEASE_S, kind.SHORTEST_LEASE_S)

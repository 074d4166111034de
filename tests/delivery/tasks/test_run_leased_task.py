"""One worker at a time runs a task, and every worker follows the task's row."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from delivery.tasks.leased_task_columns import TaskState
from delivery.tasks.periodic_task_lease import TaskInterruptedError
from delivery.tasks.run_leased_task import (
    ClaimedTask,
    TaskRefusedError,
    cancel,
    claim,
    is_claimable,
    open_tasks,
    run_next,
)
from publishing.models import Export
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)

Running = ClaimedTask[Export]


@pytest.fixture
def export() -> Export:
    """Request an export, as an example of a leased task."""
    return Export.objects.create()


def claimed() -> Running:
    task = claim(Export)
    assert task is not None
    return ClaimedTask(task)


def expire_lease() -> None:
    Export.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


def finish(running: Running) -> None:
    running.end(TaskState.FINISHED)


def fail(running: Running) -> None:
    raise RuntimeError


def test_a_claimed_task_is_not_claimed_again(export: Export) -> None:
    assert is_claimable(Export)
    claimed()
    assert not is_claimable(Export)
    assert claim(Export) is None
    assert open_tasks(Export).exists()
    assert claim(Export, pk=export.pk + 1) is None


def test_a_task_that_is_being_claimed_is_skipped(export: Export) -> None:
    with transaction.atomic():
        claimed()
        assert beside(lambda: claim(Export)).result(PATIENCE_S) is None


def test_a_worker_that_lost_its_task_changes_nothing(export: Export) -> None:
    first = claimed()
    expire_lease()
    second = claimed()
    for change in (first.heartbeat, first.hold, first.checkpoint, lambda: finish(first)):
        with transaction.atomic(), pytest.raises(TaskInterruptedError):
            change()
    first.release()
    first.retry_later()
    second.heartbeat(done=7)
    export.refresh_from_db()
    assert (export.state, export.done, export.epoch) == ("running", 7, 2)


def test_an_expired_lease_that_nobody_took_is_renewed(export: Export) -> None:
    running = claimed()
    expire_lease()
    running.heartbeat()
    assert claim(Export) is None


def test_a_stopping_worker_leaves_the_task_to_another(export: Export) -> None:
    def work(running: Running) -> None:
        running.checkpoint(done=running.task.done + 1)
        running.heartbeat()
        finish(running)

    assert run_next(Export, work, lambda: True)
    export.refresh_from_db()
    assert (export.state, export.done, export.owner) == ("waiting", 1, None)
    assert run_next(Export, work)
    export.refresh_from_db()
    assert (export.state, export.done) == ("finished", 2)


def test_work_that_returns_early_gives_the_task_back(export: Export) -> None:
    assert run_next(Export, lambda running: running.checkpoint(done=1))
    assert claimed().task.done == 1


def test_a_cancelled_task_ends_at_its_next_step(export: Export) -> None:
    def work(running: Running) -> None:
        assert cancel(export)
        running.heartbeat(done=1)

    assert run_next(Export, work)
    export.refresh_from_db()
    assert (export.state, export.done, export.finished_at is None) == ("cancelled", 0, False)
    assert not cancel(export)
    assert not run_next(Export, work)


def test_cancelling_waits_for_a_step(export: Export) -> None:
    running = claimed()
    with running.step():
        running.hold()
        cancelling = beside(lambda: cancel(export))
        wait_until_somebody_waits(cancelling)
        finish(running)
    assert cancelling.result(PATIENCE_S) is False


def test_the_server_ends_a_frozen_step_with_its_lease(export: Export, settings: Any) -> None:
    settings.DELIVERY_LEASE_S = 17
    running = claimed()
    with running.step() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("17s",)
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() != ("17s",)


def test_a_failing_task_waits_longer_and_ends(
    export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Export, "MOST_CLAIMS", 3)
    waits = []
    for _ in range(3):
        with pytest.raises(RuntimeError):
            run_next(Export, fail)
        export.refresh_from_db()
        if export.lease_until:
            waits.append(round((export.lease_until - timezone.now()).total_seconds()))
            assert not is_claimable(Export)
        expire_lease()
    assert waits == [2, 4]
    assert (export.state, export.finished_at is None, export.owner) == ("failed", False, None)


def test_a_task_that_kills_its_workers_ends(
    export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Export, "MOST_CLAIMS", 2)
    claimed()
    expire_lease()
    claimed().checkpoint()  # A checkpoint resets the count of crashes.
    for _ in range(2):
        expire_lease()
        claimed()
    expire_lease()
    assert run_next(Export, fail)
    export.refresh_from_db()
    assert export.state == "failed"


def test_a_refused_task_says_why(export: Export) -> None:
    def work(running: Running) -> None:
        raise TaskRefusedError("too_large", most=7)

    assert run_next(Export, work)
    export.refresh_from_db()
    assert export.state == "refused"
    assert export.error == {"code": "too_large", "parameters": {"most": 7}}


def test_an_interrupted_process_gives_its_task_back(export: Export) -> None:
    def work(running: Running) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_next(Export, work)
    assert is_claimable(Export)

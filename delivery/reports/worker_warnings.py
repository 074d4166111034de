"""Sentences about workers: their problems, and tasks that wait for a worker."""

from itertools import chain

from django.db import connection
from django.utils.translation import gettext as _

from delivery.monitoring.worker_heartbeat import (
    WorkerActivity,
    active_workers,
    age_s,
    load_activity,
)
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.reason import Reason
from delivery.tasks.leased_task_columns import LeasedTask, TaskState


def load_warnings() -> list[str]:
    """Load the problems of active workers as sentences, each once."""
    with connection.cursor() as cursor:
        return problem_sentences(load_activity(cursor))


def problem_sentences(activity: WorkerActivity) -> list[str]:
    """Write each problem of active workers once.

    If problems differ only in age, write the oldest.
    """
    found = sorted(chain(*activity.problems), key=age_s, reverse=True)
    once: dict[str, Reason] = {}
    for reason in found:
        once.setdefault(repr(reason.with_params(for_s=None)), reason)
    return [reason_sentence(reason) for reason in once.values()]


def waiting_sentence(task: LeasedTask) -> str:
    """Say that no worker has claimed an open task; empty for other tasks."""
    if not task.is_open or task.owner is not None:
        return ""
    if not active_workers().exists():
        return _(
            "This work is waiting for a worker, and none is running. Ask an operator to run: "
            "./homing deliver"
        )
    return _("This work is waiting for a worker, which starts within seconds.")


def task_sentence(task: LeasedTask | None) -> str:
    """Say that a task waits or failed; return "" for states that the pages describe."""
    if task is None:
        return ""
    if task.state == TaskState.FAILED:
        return _(
            "This work was started many times and never finished. Look at the workers’ log, then "
            "start it again."
        )
    return waiting_sentence(task)

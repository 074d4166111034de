"""Sentences about a task that waits for a worker or failed, for every kind."""

from datetime import timedelta

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from delivery.models import WorkerHeartbeat
from delivery.tasks.leased_task_columns import LeasedTask, TaskState

WORKER_SILENCE = timedelta(seconds=60)


def waiting_sentence(task: LeasedTask) -> str:
    """Say that no worker has claimed an open task; empty for other tasks."""
    if not task.is_open or task.owner is not None:
        return ""
    if not WorkerHeartbeat.objects.filter(heard_at__gt=Now() - WORKER_SILENCE).exists():
        return _(
            "This work is waiting for a worker, and none is running. Ask an operator to run: "
            "./homing deliver"
        )
    return _("This work is waiting for a worker, which starts within seconds.")


def task_sentence(task: LeasedTask | None) -> str:
    """Say that a task waits or failed; empty in states that each page describes."""
    if task is None:
        return ""
    if task.state == TaskState.FAILED:
        return _(
            "This work was started many times and never finished. Look at the workers’ log, then "
            "start it again."
        )
    return waiting_sentence(task)

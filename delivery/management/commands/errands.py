"""`manage.py errands`: the workers' periodic tasks, and why each failed last."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from delivery.models import PeriodicTask
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.reason import Reason
from delivery.tasks.periodic_tasks import IS_ACTIVE


class Command(BaseCommand):
    """Lists every periodic task with its status."""

    help = (
        "List the workers' periodic tasks: polling the provider, pushing suppressions, pruning. "
        "Shows when each last succeeded, or why it failed and when it is tried again."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        is_active = RawSQL(IS_ACTIVE, (), BooleanField())  # noqa: S611 -- a constant
        tasks = PeriodicTask.objects.annotate(is_active=is_active).order_by("name")
        for task in tasks:
            self.stdout.write(f"{task.name}: {_status_sentence(task, is_active=task.is_active)}")
        if not tasks:
            self.stdout.write("No worker has run a periodic task yet.")


def _status_sentence(task: PeriodicTask, *, is_active: bool) -> str:
    success = f"succeeded at {_utc(task.last_success_at)}" if task.last_success_at else ""
    success = success or "never succeeded"
    if not is_active:
        # Perhaps because there is no worker at all; `health workers` knows that.
        return f"{success}. No worker has run it since it was due at {_utc(task.due_at)}."
    if not task.failures:
        return f"{success}. Due at {_utc(task.due_at)}."
    times = "once" if task.failures == 1 else f"{task.failures:,} times in a row"
    why = reason_sentence(Reason.loads(task.last_error))
    return f"failed {times}: {why} It {success}. Next try at {_utc(task.due_at)}."


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

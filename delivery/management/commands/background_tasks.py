"""`manage.py background_tasks`: the workers' periodic tasks and their last errors."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from django.utils.translation import gettext as _

from delivery.humanise import counted
from delivery.models import PeriodicTask
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.reason import Reason
from delivery.tasks.periodic_task_lease import IS_ACTIVE


class Command(BaseCommand):
    """List every periodic task with its status."""

    help = _(
        "List the workers' periodic background tasks: polling the provider, pushing suppressions, "
        "pruning. Shows when each last succeeded, or why it failed and when the next try is."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        is_active = RawSQL(IS_ACTIVE, (), BooleanField())  # noqa: S611 -- a constant
        tasks = PeriodicTask.objects.annotate(is_active=is_active).order_by("name")
        for task in tasks:
            self.stdout.write(f"{_shown(task.name)}: {_status(task, is_active=task.is_active)}")
        if not tasks:
            self.stdout.write(_("No worker has run a periodic task yet."))


def _shown(name: str) -> str:
    """Return the task's name, and for a polling task also the data that it polls."""
    if name.startswith("poll "):
        return _("{task} (bounces, complaints and suppressions)").format(task=name)
    return name


def _status(task: PeriodicTask, *, is_active: bool) -> str:
    sentences = []
    if is_active and task.failures:
        sentences.append(counted("{n} try failed.", "{n} tries in a row failed.", task.failures))
        error = reason_sentence(Reason.loads(task.last_error))
        sentences.append(_("Last error: {error}").format(error=error))
    if task.last_success_at:
        sentences.append(_("Last success: {time}.").format(time=_utc(task.last_success_at)))
    else:
        sentences.append(_("It has never succeeded."))
    # Perhaps no worker runs at all; `health workers` shows whether one runs.
    next_run = _("Next run: {time}.")
    overdue = _("No worker has run it since it was due: {time}.")
    sentences.append((next_run if is_active else overdue).format(time=_utc(task.due_at)))
    return " ".join(sentences)


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

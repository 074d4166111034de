"""`manage.py errands`: what workers go on now and then, and why it failed last."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand

from delivery.tasks.periodic_tasks import TaskStatus, load_all


class Command(BaseCommand):
    """Lists every errand with how it stands."""

    help = (
        "List what workers go on now and then: asking the provider, telling it, pruning. Of each "
        "when it last went well, or why it failed and when it is tried again."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        errands = load_all()
        for errand in errands:
            self.stdout.write(f"{errand.name}: {_how_it_stands(errand)}")
        if not errands:
            self.stdout.write("No worker has gone on an errand yet.")


def _how_it_stands(errand: TaskStatus) -> str:
    well = f"went well at {_clock(errand.through_at)}" if errand.through_at else "never went well"
    if not errand.is_gone_on:
        # Perhaps because there is no worker at all; `health workers` knows that.
        return f"{well}. Nobody has gone on it since it was due at {_clock(errand.due_at)}."
    if not errand.failures:
        return f"{well}. Due at {_clock(errand.due_at)}."
    times = "once" if errand.failures == 1 else f"{errand.failures:,} times in a row"
    return f"failed {times}: {errand.said} It {well}. Tried again at {_clock(errand.due_at)}."


def _clock(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

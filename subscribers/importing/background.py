"""Imports in the background: what a worker does of them beside its calls."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from subscribers.importing.lease import take
from subscribers.importing.run import run
from subscribers.models import SubscriberImport

State = SubscriberImport.State


def work(is_stopping: Callable[[], bool]) -> bool:
    """Take the next check or import that is due and see it through; False if none is."""
    hold = take(uuid4())
    if hold is None:
        return False
    run(hold, is_stopping=is_stopping)
    return True


def is_due() -> bool:
    """Whether some check or import waits for a worker, or for one to go on with it."""
    return SubscriberImport.objects.filter(
        state__in=(State.CHECKING, State.WAITING, State.RUNNING)
    ).exists()


def import_under_way() -> int | None:
    """The id of an import that is adding readers or is about to; None if none is."""
    under_way = SubscriberImport.objects.filter(state__in=(State.WAITING, State.RUNNING))
    return under_way.order_by("id").values_list("id", flat=True).first()

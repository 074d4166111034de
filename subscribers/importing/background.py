"""The task by which a worker runs imports."""

from collections.abc import Callable
from uuid import uuid4

from subscribers.importing.lease import claim_import
from subscribers.importing.run import run
from subscribers.models import SubscriberImport

State = SubscriberImport.State


def run_next_import(is_stopping: Callable[[], bool]) -> bool:
    """Claim the next check or import that is due and run it; False if none is."""
    lease = claim_import(uuid4())
    if lease is None:
        return False
    run(lease, is_stopping=is_stopping)
    return True


def is_due() -> bool:
    """Whether some check or import waits for a worker."""
    return SubscriberImport.objects.filter(
        state__in=(State.CHECKING, State.WAITING, State.RUNNING)
    ).exists()


def running_import() -> int | None:
    """The id of an import that is adding readers or is about to; None if none is."""
    running = SubscriberImport.objects.filter(state__in=(State.WAITING, State.RUNNING))
    return running.order_by("id").values_list("id", flat=True).first()

"""Whether something is well, as a value, and what is said where it is not. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from delivery.monitoring.worker_heartbeat import ACTIVE_WITHIN_S, WorkerActivity


@dataclass(frozen=True, slots=True)
class CheckResult:
    """
    No reasons: it is well. A reason is one sentence that any stranger may read; `details` are for
    the operator's own shell: what the database said, which migrations.
    """

    reasons: tuple[str, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """Whether there is nothing against it."""
        return not self.reasons

    def as_json(self, *, with_details: bool = False) -> dict[str, object]:
        """The same shape for every check."""
        said: dict[str, object] = {
            "status": "ok" if self.is_well else "unavailable",
            "reasons": list(self.reasons),
        }
        return said | ({"details": list(self.details)} if with_details else {})


HEALTHY = CheckResult()


def no_answer(trouble: str) -> CheckResult:
    """The database gave no answer."""
    return CheckResult(("The database does not answer.",), (trouble,))


def of_migrations(missing: Sequence[str]) -> CheckResult:
    """What lacks in the database of all that this code knows."""
    if not missing:
        return HEALTHY
    lack = "1 migration is" if len(missing) == 1 else f"{len(missing)} migrations are"
    return CheckResult(
        (f"{lack} not applied yet; until then this version must not be sent visitors.",),
        tuple(f"not applied: {name}" for name in missing),
    )


def of_workers(heard: WorkerActivity, host: str) -> CheckResult:
    """Whether a worker was heard from, of this host where one is named."""
    if heard.lately:
        return HEALTHY
    of = " on this host" if host else ""
    if heard.at is None:
        said = (
            f"No worker{of} is known: none was started, or the last one ended as it was asked to."
        )
    else:
        since = heard.at.astimezone(UTC)
        said = (
            f"No worker{of} was heard from in the last {ACTIVE_WITHIN_S} seconds; the last "
            f"time was {since:%Y-%m-%d %H:%M:%S} UTC."
        )
    return CheckResult((said,), (f"this host is {host}",) if host else ())

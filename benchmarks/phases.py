"""Time of a step by phase, as workers measure it.

The phases are those of `Phase` in `delivery/monitoring/delivery_metrics.py`. Times are microseconds
per copy: at 20,000 copies a second one thread has 50. Threads wait in parallel, so the phases' sum
exceeds the elapsed time. CPU time does not, since one thread of a process runs at a time.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.frame import Measured
from benchmarks.site.site import Site
from delivery.monitoring.delivery_metrics import Phase

TOOK, WORKED = "homing_worker_phase_seconds_total", "homing_worker_phase_cpu_seconds_total"


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Seconds and CPU seconds of each phase, over all threads and workers."""

    took_s: Mapping[str, float]
    worked_s: Mapping[str, float]


@dataclass(slots=True)
class Phases:
    """Counters of several runs."""

    copies: int
    runs: list[PhaseTimes] = field(default_factory=list)

    @contextmanager
    def counted(self, site: Site) -> Iterator[None]:
        """Count one run and add its phases. Workers add their counts when they end."""
        before = _counted(site)
        yield
        after = _counted(site)
        self.runs.append(
            PhaseTimes(_grown(before.took_s, after.took_s), _grown(before.worked_s, after.worked_s))
        )

    def figures(self, rounds: int) -> tuple[Measured, ...]:
        """Return time and CPU time per copy for each phase of the latest rounds."""
        names = list(self.runs[0].took_s)
        return tuple(
            Measured(
                f"{name}, {words}",
                "µs a copy",
                tuple(getattr(run, kind)[name] / self.copies * 1e6 for run in self.runs[-rounds:]),
            )
            for name in names
            for words, kind in (("all threads", "took_s"), ("at work", "worked_s"))
        )


def _counted(site: Site) -> PhaseTimes:
    with site.connect() as connection:
        rows = connection.execute(
            "SELECT name, labels, value FROM metric_value WHERE name = ANY(%s)", [[TOOK, WORKED]]
        ).fetchall()
    seconds: dict[str, dict[str, float]] = {TOOK: {}, WORKED: {}}
    for name, labels, value in rows:
        seconds[name][json.loads(labels)["phase"]] = value
    return PhaseTimes(seconds[TOOK], seconds[WORKED])


def _grown(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return each phase's increase, in the order of the phases in a step."""
    return {name.value: after.get(name, 0.0) - before.get(name, 0.0) for name in Phase}

"""
Where the time of a step goes, as the workers count it themselves: `Phase` in
`delivery/monitoring/delivery_metrics.py`.

Per copy in microseconds, so that the phases stand beside a rate: at 20,000 copies a second one
thread would have 50 for all of them. Several threads wait at the same time, so their phases add up
to more than the time that passed; the part that is work does not, since of one process only one
thread is at work at a time.
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
    """Seconds that each phase took, and was at work itself, over all threads of all workers."""

    took_s: Mapping[str, float]
    worked_s: Mapping[str, float]


@dataclass(slots=True)
class Phases:
    """What was counted in each of several runs, for figures of their own."""

    copies: int
    runs: list[PhaseTimes] = field(default_factory=list)

    @contextmanager
    def counted(self, site: Site) -> Iterator[None]:
        """A run, whose phases are added. Its workers add what they counted when they end."""
        before = _counted(site)
        yield
        after = _counted(site)
        self.runs.append(
            PhaseTimes(_grown(before.took_s, after.took_s), _grown(before.worked_s, after.worked_s))
        )

    def figures(self, rounds: int) -> tuple[Measured, ...]:
        """For each phase what it took for a copy, and what of it was work; of the last rounds."""
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
    """In the order of a step."""
    return {name.value: after.get(name, 0.0) - before.get(name, 0.0) for name in Phase}

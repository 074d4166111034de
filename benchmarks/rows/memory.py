"""How much memory does a worker take, and does it grow with the list?

One real `deliver` with its defaults is started for each list of 10,000, 100,000 and 1,000,000
readers. The figure is the peak resident memory of the largest process. The system itself keeps this
peak (VmHWM), so no peak is missed between two samples. The peak is read repeatedly until the worker
has ended. The processes share memory after the fork. For the share of each process (PSS), the
system keeps no peak, so the share is sampled.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cpu_time import children_of
from benchmarks.frame import Measured, Options, RowResult, at_most, ratio, say, shown
from benchmarks.site.site import Site, a_site

ROW = "worker memory"
LOOKS_EVERY_S, SHARE_EVERY = 0.05, 10


@dataclass(frozen=True, slots=True)
class Peak:
    """A process's largest resident memory and share (MB); the number of processes."""

    resident_mb: float
    share_mb: float
    processes: int


def measure(options: Options) -> RowResult:
    """Measure the peak at each size, and the growth."""
    sizes = [options.size(*each) for each in ((10_000, 500), (100_000, 1_000), (1_000_000, 2_000))]
    peaks: dict[int, list[Peak]] = {size: [] for size in sizes}
    for number in range(1, options.rounds + 1):
        # Use a new site in each round, because a list of readers cannot shrink.
        with a_site() as site:
            for size in sizes:
                peak = peak_of(site, size)
                peaks[size].append(peak)
                say(f"  round {number}: {size:,} readers: {shown(peak.resident_mb, 'MB')}")
    figures = [
        Measured(f"{size:,} readers", "MB", tuple(peak.resident_mb for peak in peaks[size]))
        for size in sizes
    ]
    rounds = list(zip(*peaks.values(), strict=True))
    largest = Measured(ROW, "MB", tuple(max(peak.resident_mb for peak in each) for each in rounds))
    share = Measured(ROW, "MB", tuple(max(peak.share_mb for peak in each) for each in rounds))
    flat = ratio(ROW, figures[-1], figures[0])
    return RowResult(
        ROW,
        (
            at_most("each process: at most 150 MB resident", largest, 150),
            at_most("each process: at most 100 MB as its share (PSS)", share, 100),
            at_most(f"{figures[-1].name} at most 1.1 × {figures[0].name}", flat, 1.1),
        ),
        tuple(figures),
        (f"{max(peak.processes for each in rounds for peak in each)} processes.",),
    )


def peak_of(site: Site, readers: int) -> Peak:
    """Send to all readers; return the peaks of the worker's processes."""
    site.readers(readers)
    site.publish()
    resident: dict[int, int] = {}
    share_kib = 0
    with site.running("deliver", "--until-empty") as worker:
        looks = 0
        while worker.poll() is None:
            for pid in (worker.pid, *children_of(worker.pid)):
                resident[pid] = max(resident.get(pid, 0), _kib(pid, "status", "VmHWM:"))
                # Read the share rarely, because reading it is expensive.
                if looks % SHARE_EVERY == 0:
                    share_kib = max(share_kib, _kib(pid, "smaps_rollup", "Pss:"))
            looks += 1
            time.sleep(LOOKS_EVERY_S)
        output, _ = worker.communicate()
    sent = json.loads(output.splitlines()[-1])["sent"]
    if sent != readers or not resident:
        raise RuntimeError(f"{sent:,} of {readers:,} copies were sent, {len(resident)} processes.")
    return Peak(max(resident.values()) * 1024 / 1e6, share_kib * 1024 / 1e6, len(resident))


def _kib(pid: int, file: str, name: str) -> int:
    """Return an amount of memory from /proc in KiB, or 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)

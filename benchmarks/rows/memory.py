"""How much memory does a worker take, and does it grow with the list?

One real `deliver` with defaults sends to 10,000, 100,000 and 1,000,000 readers, each time as a new
process. The figure is the system's peak of resident memory (VmHWM), so no peak is missed between
two samples. It is read repeatedly until the process has ended.
"""

import json
import time
from pathlib import Path

from benchmarks.frame import Measured, Options, RowResult, Target, ratio, run_alone, say, shown
from benchmarks.site.site import Site, a_site

ROW = "worker memory"
LOOKS_EVERY_S = 0.05


def measure(options: Options) -> RowResult:
    """Measure the peak at each size, and the growth."""
    sizes = [options.size(*each) for each in ((10_000, 500), (100_000, 1_000), (1_000_000, 2_000))]
    peaks: dict[int, list[float]] = {size: [] for size in sizes}
    for number in range(1, options.rounds + 1):
        # One site per round: a list cannot shrink.
        with a_site() as site:
            for size in sizes:
                peaks[size].append(peak_mb(site, size))
                say(f"  round {number}: {size:,} readers: {shown(peaks[size][-1], 'MB')}")
    figures = [Measured(f"{size:,} readers", "MB", tuple(peaks[size])) for size in sizes]
    largest = Measured(ROW, "MB", tuple(max(runs) for runs in zip(*peaks.values(), strict=True)))
    flat = ratio(ROW, figures[-1], figures[0])
    return RowResult(
        ROW,
        (
            Target("at most 150 MB resident", largest, 150, True),
            Target(f"{figures[-1].name} at most 1.1 × {figures[0].name}", flat, 1.1, True),
        ),
        tuple(figures),
    )


def peak_mb(site: Site, readers: int) -> float:
    """Return the peak resident memory of a worker that sent to everyone, in MB."""
    site.readers(readers)
    site.publish()
    peak_kib = 0
    with site.running("deliver", "--until-empty") as worker:
        status = Path(f"/proc/{worker.pid}/status")
        while worker.poll() is None:
            for line in status.read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peak_kib = max(peak_kib, int(line.split()[1]))
            time.sleep(LOOKS_EVERY_S)
        output, _ = worker.communicate()
    sent = json.loads(output.splitlines()[-1])["sent"]
    if sent != readers or not peak_kib:
        raise RuntimeError(f"{sent:,} of {readers:,} copies were sent, {peak_kib:,} KiB seen.")
    return peak_kib * 1024 / 1e6


if __name__ == "__main__":
    run_alone(measure)

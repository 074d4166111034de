"""How much memory does a stranger's file take, whatever is in it?

Each file of `hostile_files.py` is within the size limits. It is read like an upload or in a
worker's task, in a separate process.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.frame import Measured, Options, RowResult, Target, run_alone, say
from benchmarks.hostile_files import ALL, MB

PROGRAM = "benchmarks.programs.read_hostile_file"


def measure(options: Options) -> RowResult:
    """Measure each file once, and return the largest additional memory."""
    most = Measured("the largest", "MB", (max(_largest_of(kind, options) for kind in ALL),))
    return RowResult(
        "a file that is moved in, of any content",
        (Target("at most 150 MB of additional memory", most, 150, at_most=True),),
    )


def _largest_of(kind: str, options: Options) -> float:
    largest = 0.0
    # A tiny run reads one file of each kind.
    for name, make in list(ALL[kind].items())[: options.size(len(ALL[kind]), 1)]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(make())
            done = subprocess.run(
                [sys.executable, "-m", PROGRAM, kind, folder, name],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            found = json.loads(done.stdout)
            took, size = found["bytes"] / MB, path.stat().st_size / MB
        say(f"{took:6.0f} MB  {size:5.1f} MB file  {kind}, {name}: {found['outcome'][:90]}")
        largest = max(largest, took)
    return largest


if __name__ == "__main__":
    run_alone(measure)

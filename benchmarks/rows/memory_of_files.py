"""How much memory does a stranger's file or image take at most?

Each file of `hostile_files.py` is within the size limits. A separate process reads each file as an
upload or a worker's task does.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.frame import Measured, Options, RowResult, at_most, say
from benchmarks.hostile_files import ALL, MB

PROGRAM = "benchmarks.read_hostile_file"


def measure(options: Options) -> RowResult:
    """Measure each file once, and return the largest additional memory."""
    largest = {kind: _largest_of(kind, options) for kind in ALL}
    image = largest.pop("images")
    return RowResult(
        "a file of any content",
        (
            at_most(
                "moved in: at most 150 MB of additional memory",
                Measured("the largest", "MB", (max(largest.values()),)),
                150,
            ),
            at_most(
                "an image: at most 150 MB of additional memory",
                Measured("the largest image", "MB", (image,)),
                150,
            ),
        ),
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

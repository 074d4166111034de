"""How much memory does a stranger's file take, whatever is in it?

Each file of `hostile_files.py` is within the size limits. It is read like an upload or in a
worker's task, in a separate process. The exit code is 1 if one takes more than 150 MB.

Run `python -m benchmarks.studies.memory_of_files [WORD…]`. With words, it measures only files whose
names have one of them.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.hostile_files import ALL, MB

MOST = 150 * MB
PROGRAM = "benchmarks.programs.read_hostile_file"


def main() -> None:
    """Measure each file, and print a line for it."""
    words, largest = sys.argv[1:], 0
    for kind, files in ALL.items():
        for name, make in files.items():
            if words and not any(word in f"{kind} {name}" for word in words):
                continue
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
                size, took = path.stat().st_size / MB, found["bytes"] / MB
            largest = max(largest, found["bytes"])
            print(f"{took:6.0f} MB  {size:5.1f} MB file  {kind}, {name}: {found['outcome'][:90]}")
    print(f"the largest: {largest / MB:.0f} MB")
    sys.exit(largest > MOST)


if __name__ == "__main__":
    main()

"""Import a list of readers by command and by upload, and measure each step.

Each step is a separate process. The list has duplicates, bad rows and quoted names. One import uses
the command, with its full report and the file of rejects. The other uploads the file through the
site's own WSGI application; a worker's step checks and imports it.

    python -m benchmarks.imports [--rows 1000000]

runs both once with lists of any length and reports the memory: at most 200 MB in every process,
however long the list.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.frame import at_least_one, end_in_good_order
from benchmarks.programs.browser import TOKEN
from benchmarks.programs.sign_in import MANAGERS, sessions_of
from benchmarks.site.site import ROOT, Site, a_site

BOUNDARY = "a-line-that-is-not-in-the-file"
STEP = ("-m", "benchmarks.programs.import_step")


@dataclass(frozen=True, slots=True)
class Step:
    """One process: its seconds, CPU seconds and peak memory, and its last line."""

    took_s: float
    cpu_s: float
    peak_mb: float
    output: Any


def write_list(path: Path, rows: int, name: str = "") -> dict[str, int]:
    """Write a list of `rows` rows; return the expected report of its import.

    About one row in fifty is a duplicate and one in a hundred is invalid. `name` is part of every
    address.
    """
    counts = Counter(rows=rows)
    with path.open("w", encoding="utf-8") as file:
        file.write("email,name,joined\n")
        for number in range(rows):
            if number % 100 == 99:
                counts["rejected"] += 1
                file.write(f"reader{number}{name}@@example.net,Nobody,2024-05-01\n")
            elif number % 50 == 48:
                # If the earlier row was invalid, this one is the first with its address.
                counts["added" if number // 2 % 100 == 99 else "duplicates"] += 1
                file.write(f"READER{number // 2}{name}@example.net,Again,2024-05-01\n")
            else:
                counts["added"] += 1
                file.write(
                    f'reader{number}{name}@example.net,"Whitlock, Ada {number}",2024-05-01\n'
                )
    return dict(counts)


def by_the_command(site: Site, content: Path) -> Step:
    """Run `import_subscribers --confirmed`, with full report and file of rejects."""
    rejects = content.with_suffix(".rejects.csv")
    return run_step(
        site,
        *("manage.py", "import_subscribers", str(content)),
        *("--rejects", str(rejects), "--confirmed"),
    )


def by_the_page(site: Site, content: Path, session: str) -> Mapping[str, Step]:
    """Upload the file, check it, decide, and import it.

    The import queues a confirmation mail to every new reader. The decision takes no time here.
    """
    body = content.with_suffix(".body")
    _write_body(body, content)
    uploaded = run_step(site, *STEP, "upload", session, str(body), BOUNDARY)
    checked = run_step(site, *STEP, "work")
    run_step(site, *STEP, "decide")
    return {"upload": uploaded, "check": checked, "import": run_step(site, *STEP, "work")}


def _write_body(path: Path, content: Path) -> None:
    """Write the file as a browser posts it."""
    with path.open("wb") as body, content.open("rb") as file:
        body.write(
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n'
            f'{TOKEN}\r\n--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; '
            f'filename="{content.name}"\r\nContent-Type: text/csv\r\n\r\n'.encode()
        )
        while piece := file.read(1 << 20):
            body.write(piece)
        body.write(f"\r\n--{BOUNDARY}--\r\n".encode())


def run_step(site: Site, *command: str) -> Step:
    """Run a process of the site to its end. Raises `RuntimeError` if it fails."""
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=site.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    took_s = time.monotonic() - began
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{output}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Step(took_s, cpu_s, usage.ru_maxrss / 1024, json.loads(output.splitlines()[-1]))


def main() -> None:
    """Import each list once both ways, and print each step."""
    options = argparse.ArgumentParser(description="Measure an import.")
    options.add_argument(
        "--rows",
        type=at_least_one,
        nargs="+",
        default=[1_000_000],
        help="the length of each list (%(default)s)",
    )
    chosen = options.parse_args()
    end_in_good_order()
    for rows in chosen.rows:
        with a_site() as site:
            (session,) = sessions_of(site, 1, MANAGERS)
            one, other = site.folder / "one.csv", site.folder / "other.csv"
            write_list(one, rows, "-one")
            write_list(other, rows, "-other")
            print(f"{rows:,} rows", flush=True)
            _print("the command", by_the_command(site, one))
            for what, step in by_the_page(site, other, session).items():
                _print(what, step)


def _print(what: str, step: Step) -> None:
    print(
        f"  {what:<12} {step.took_s:7.1f} s {step.cpu_s:7.1f} s CPU {step.peak_mb:7.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    main()

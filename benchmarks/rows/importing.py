"""How long does an import of 100,000 rows take, with its full report?

The target is for the command: the time from its start, including Python's, to the last line of its
report. The command writes every rejected row to a file and confirms all readers. The further
figures are for an import on the desk. The file is uploaded through the site's own WSGI application.
Then a worker's step checks and imports the file, and queues a confirmation mail to every reader.
Every step is a separate process, and the system reports the process's peak memory. Every round
imports another list into a site that keeps the earlier lists. Each list has duplicates, bad rows
and quoted names. Each report is compared with the content of the list.
"""

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

from benchmarks.frame import Measured, Options, RowResult, at_most, say, shown
from benchmarks.site.browser import MANAGERS, TOKEN, InProcess, sessions_of
from benchmarks.site.provider_process import ROOT
from benchmarks.site.site import Site, a_site
from benchmarks.site.within_site import begin, command_of

COMMAND = "the command, with its report"
PAGE = "/admin/newsletters/imports/"
BOUNDARY = "a-line-that-is-not-in-the-file"


@dataclass(frozen=True, slots=True)
class Step:
    """One process: its seconds, its peak memory, and the last line of its output."""

    took_s: float
    peak_mb: float
    output: Any


def measure(options: Options) -> RowResult:
    """Measure the command and the desk's steps, round by round."""
    rows = options.size(100_000, 5_000)
    rounds: list[dict[str, Step]] = []
    with a_site() as site:
        (session,) = sessions_of(site, 1, MANAGERS)
        # The first round warms the machine up.
        for number in range(1 if options.quick else 0, options.rounds + 1):
            steps = one_round(site, rows, number, session)
            took = ", ".join(f"{name} {shown(step.took_s, 's')}" for name, step in steps.items())
            say(f"  {f'round {number}' if number else 'warm-up'}: {took}")
            if number:
                rounds.append(steps)
    seconds = {name: _seconds(name, [(steps[name],) for steps in rounds]) for name in rounds[0]}
    command = seconds.pop(COMMAND)
    desk = _seconds(
        "the three steps over the desk",
        [tuple(step for name, step in steps.items() if name != COMMAND) for steps in rounds],
    )
    memory = Measured(
        "peak memory of the largest process",
        "MB",
        tuple(max(step.peak_mb for step in steps.values()) for steps in rounds),
    )
    return RowResult(
        f"import of {rows:,} rows",
        (at_most("at most 15 s with the full report", command, 15),),
        (*seconds.values(), desk, memory),
    )


def one_round(site: Site, rows: int, number: int, session: str) -> dict[str, Step]:
    """Import a list with the command, and another list of equal length on the desk."""
    one, other = (site.folder / f"{way}{number}.csv" for way in ("command", "desk"))
    of_one = write_list(one, rows, f"-{one.stem}")
    of_other = write_list(other, rows, f"-{other.stem}")
    command = by_the_command(site, one)
    assert of_one.items() <= command.output.items(), command.output
    steps = by_the_page(site, other, session)
    # Importing the same content again creates nothing, and the command prints the report of the
    # desk's import.
    again = by_the_command(site, other).output
    assert (of_other | {"created": False}).items() <= again.items(), again
    return {COMMAND: command} | {f"over the desk: {name}": step for name, step in steps.items()}


def _seconds(name: str, rounds: list[tuple[Step, ...]]) -> Measured:
    return Measured(name, "s", tuple(sum(step.took_s for step in steps) for steps in rounds))


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
                # If the earlier row with this address was invalid, this row is the first valid one.
                counts["added" if number // 2 % 100 == 99 else "duplicates"] += 1
                file.write(f"READER{number // 2}{name}@example.net,Again,2024-05-01\n")
            else:
                counts["added"] += 1
                file.write(
                    f'reader{number}{name}@example.net,"Whitlock, Ada {number}",2024-05-01\n'
                )
    return dict(counts)


def by_the_command(site: Site, content: Path) -> Step:
    """Run `import_subscribers --confirmed` with a full report and a file of bad rows."""
    rejects = content.with_suffix(".rejects.csv")
    return run_step(
        site,
        *("manage.py", "import_subscribers", str(content)),
        *("--rejects", str(rejects), "--confirmed"),
    )


def by_the_page(site: Site, content: Path, session: str) -> Mapping[str, Step]:
    """Upload the file, check it, decide, and import it.

    The import queues a confirmation mail to every new reader. The time in which an author decides
    is not measured.
    """
    body = content.with_suffix(".body")
    _write_body(body, content)
    uploaded = run_step(site, *command_of(upload, session, str(body)))
    checked = run_step(site, *command_of(work))
    run_step(site, *command_of(decide))
    return {"upload": uploaded, "check": checked, "import": run_step(site, *command_of(work))}


def upload(session: str, body: str) -> None:
    """Post a file as a browser does."""
    begin()
    from newsletter_site.wsgi import application

    path = Path(body)
    with path.open("rb") as file:
        page = InProcess(application, session).upload(
            PAGE, file, path.stat().st_size, f"multipart/form-data; boundary={BOUNDARY}"
        )
    assert page.status == 303, page


def work() -> None:
    """Run the worker's import steps until none is due."""
    begin()
    from subscribers.importing.import_task import run_next_import

    assert run_next_import(), "no import was due"
    while run_next_import():
        pass


def decide() -> None:
    """Confirm the import of the checked file."""
    begin()
    from subscribers.importing.accept_upload import Statement, start_import
    from subscribers.models import SubscriberImport

    checked = SubscriberImport.objects.get(state=SubscriberImport.State.CHECKED)
    assert start_import(checked.pk, Statement().columns())


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
    """Run a process of the site to its end; raise `RuntimeError` if the process fails."""
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
    return Step(took_s, usage.ru_maxrss / 1024, json.loads(output.splitlines()[-1]))

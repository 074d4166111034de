"""How much memory does a stranger's file or image take at most?

Each file of `hostile_files.py` is within the size limits. A separate process does with each file
what an upload or a worker's task does. This process runs `python -m benchmarks.rows.memory_of_files
KIND FOLDER NAME…`; KIND is `past_issues`, `readers` or `images`. The program needs no database, and
runs only on Linux.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import IO

from benchmarks.frame import Measured, Options, RowResult, at_most, say
from benchmarks.hostile_files import ALL, MB, SMALL

SITE = "https://" + "a" * 200 + ".example.org"


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
                [sys.executable, "-m", __name__, kind, folder, name],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            found = json.loads(done.stdout)
            took, size = found["bytes"] / MB, path.stat().st_size / MB
        say(f"{took:6.0f} MB  {size:5.1f} MB file  {kind}, {name}: {found['outcome'][:90]}")
        largest = max(largest, took)
    return largest


def main() -> None:
    """Read small files to load the libraries, then each file in a separate process.

    For each file, print a line of JSON: its name, the additional bytes of peak resident memory, and
    the outcome.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    os.environ.setdefault("DEBUG", "on")
    import django

    django.setup()
    kind, folder, *names = sys.argv[1:]
    for small in (*SMALL[kind], b""):
        attempt(kind, io.BytesIO(small))
    for name in names:
        if os.fork():
            os.wait()
        else:
            Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the current memory
            before = peak()
            with (Path(folder) / name).open("rb") as file:
                outcome = attempt(kind, file)
            found = {"name": name, "bytes": peak() - before, "outcome": outcome}
            print(json.dumps(found), flush=True)
            os._exit(0)


def attempt(kind: str, file: IO[bytes]) -> str:
    """Read the file, and return the outcome in words."""
    read = {"past_issues": read_past_issues, "readers": read_readers, "images": read_image}[kind]
    try:
        return str(read(file))
    except Exception as error:  # noqa: BLE001 -- every refusal is an outcome
        return f"{type(error).__name__}: {error}"[:200]


def read_past_issues(file: IO[bytes]) -> object:
    """Read each issue and prepare its letter, as an import of past issues does."""
    from publishing.past_issues.clean_letter import clean_letter
    from publishing.past_issues.copy_images import ImageCopier
    from publishing.past_issues.move_task import check_content, content_of
    from publishing.past_issues.own_export import own_content
    from publishing.past_issues.past_issue import Product, SkipIssueError
    from publishing.past_issues.read_export import Export

    class Copier(ImageCopier):
        def _take(self, address: str) -> tuple[str, int, int] | None:
            return address, 0, 0

    export = Export(file, SITE)
    copier, outcomes = Copier(export, None, None, lambda: None), Counter[str]()  # type: ignore[arg-type]
    for past in export.issues:
        copier.kept.clear()
        try:
            if past.skip:
                raise SkipIssueError(past.skip)
            if export.product is Product.HOMING and export.entries:
                check_content(own_content(export.entries, past, copier.take))
            else:
                html, _has_player = clean_letter(
                    export.product, export.letter_of(past), copier.take
                )
                content_of(past, html)
            outcomes["moved"] += 1
        except SkipIssueError as skipped:
            outcomes[skipped.reason.value] += 1
    return dict(outcomes)


def read_readers(file: IO[bytes]) -> object:
    """Detect the columns and read the rows in chunks, as an import does."""
    from subscribers.importing.file_format.read_file import ReaderFile
    from subscribers.importing.file_format.validate_row import validate_row
    from subscribers.importing.import_task import chunks

    outcomes = Counter[str]()
    with ReaderFile(file, "a.csv") as readers:  # type: ignore[arg-type]
        for chunk in chunks(readers.rows()):
            validated = [validate_row(row, readers.fields) for row in chunk]
            outcomes.update(type(one).__name__ for one in validated)
    return dict(outcomes)


def read_image(file: IO[bytes]) -> object:
    """Resize an image for mail, as an upload does."""
    from publishing.images.resize_image import resize_image

    image = resize_image(file.read())
    return f"{image.content_type} of {image.width} x {image.height}"


def peak() -> int:
    """Return the peak resident memory of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()

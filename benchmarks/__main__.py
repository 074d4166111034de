"""Measure the rows of the specification and print one table.

Run `python -m benchmarks [ROW …]`. The exit code is 1 if a target is missed, 3 if a row failed, and
130 after an interruption.
"""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from benchmarks.frame import Options, RowResult, markdown, say, table
from benchmarks.surroundings import surroundings

# The rows, in the specification's order.
ROWS = (
    *(
        "publish",
        "publish_unanalysed",
        "at_once",
        "slow_calls",
        "smtp",
        "memory",
        "database_cost",
        "idle",
    ),
    *("snapshot", "recovery", "progress", "pages", "check_sheet", "memory_of_files", "importing"),
    "replay",
)
# The rows in a folder of their own.
FOLDERS = {name: f"delivery.{name}" for name in ("at_once", "slow_calls", "smtp")}
MISSED, FAILED, INTERRUPTED = 1, 3, 128 + signal.SIGINT


def main() -> int:
    """Measure the named rows, or all rows; return the exit code.

    Results so far are shown and written even after an error or an interruption.
    """
    chosen = _options().parse_args()
    options = Options(rounds=1 if chosen.quick else chosen.rounds, quick=chosen.quick)
    # Exit through the `finally` blocks, which also stop child processes.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda given, _: sys.exit(128 + given))
    around = surroundings()
    results: list[RowResult] = []
    is_interrupted = False
    for name in chosen.rows or ROWS:
        try:
            results.append(_result(name, options))
        except KeyboardInterrupt:
            is_interrupted = True
            say(f"Interrupted in {name}.")
            break
    around = around.at_the_end()
    print(table(results, around, quick=options.quick), end="", flush=True)
    if chosen.markdown:
        chosen.markdown.write_text(markdown(results, around, quick=options.quick))
    if is_interrupted:
        return INTERRUPTED
    if not all(result.targets for result in results):
        return FAILED
    return 0 if options.quick or all(result.is_met for result in results) else MISSED


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure Homing's speed."
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", type=_row, help=", ".join(ROWS))
    parser.add_argument("--rounds", type=_rounds, default=3, help="counted rounds (%(default)s)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes and one round, to check that the rows work; judges no target",
    )
    parser.add_argument(
        "--markdown", type=_file, metavar="FILE", help="also write the table as in the docs"
    )
    return parser


def _row(name: str) -> str:
    if name not in ROWS:
        raise argparse.ArgumentTypeError(
            f"there is no row {name!r}; expected one of {', '.join(ROWS)}"
        )
    return name


def _rounds(text: str) -> int:
    rounds = int(text) if text.isdecimal() else 0
    if rounds < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid number of rounds; expected at least 1"
        )
    return rounds


def _file(text: str) -> Path:
    """Return a writable path.

    The path is checked before anything is measured. With a wrong folder, the results of half an
    hour would be lost.
    """
    path = Path(text)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot be written; expected a file in an existing folder"
        )
    return path


def _result(name: str, options: Options) -> RowResult:
    """Return one row's result. If the row fails, the result's notes contain the error."""
    say(name)
    try:
        result: RowResult = import_module(f"benchmarks.rows.{FOLDERS.get(name, name)}").measure(
            options
        )
        return replace(result, name=name)
    except Exception as error:  # noqa: BLE001 -- every error is shown and counted
        traceback.print_exception(error)
        return RowResult(name, (), notes=tuple(_error_lines(error)), name=name)


def _error_lines(error: Exception) -> Iterator[str]:
    """Yield the lines of an error; a failed command prints several lines."""
    first, *rest = str(error).splitlines() or [""]
    yield f"It failed: {type(error).__name__}: {first}"
    yield from rest


if __name__ == "__main__":
    sys.exit(main())

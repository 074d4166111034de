"""Measure the rows of the specification and print one table.

Run `python -m benchmarks [ROW …]`. Exit code 1: a target is missed. 3: a row failed. 130:
interrupted.
"""

import argparse
import importlib
import pkgutil
import sys

from benchmarks import rows
from benchmarks.frame import Measure, add_options, carried_out

# In the specification's order; other rows come last.
ORDER = (
    "publish",
    "publish_unanalysed",
    "at_once",
    "through_50_ms",
    "through_200_ms",
    "memory",
    "database_cost",
    "idle",
    "snapshot",
    "recovery",
    "progress",
    "pages",
    "check_sheet",
    "picture",
    "memory_of_files",
    "importing",
    "replay",
)


def main() -> None:
    """Measure the named rows, or all rows."""
    names = row_names()
    options = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure Homing's speed."
    )
    options.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(names))
    add_options(options)
    chosen = options.parse_args()
    for name in chosen.rows:
        if name not in names:
            options.error(f"there is no row {name!r}; expected one of {', '.join(names)}")
    sys.exit(carried_out({name: measure_of(name) for name in chosen.rows or names}, chosen))


def row_names() -> list[str]:
    """Return all rows, in the order in which they are shown."""
    there = {module.name for module in pkgutil.iter_modules(rows.__path__)}
    return [name for name in ORDER if name in there] + sorted(there - set(ORDER))


def measure_of(name: str) -> Measure:
    """Return the function that measures a row."""
    measure: Measure = importlib.import_module(f"benchmarks.rows.{name}").measure
    return measure


if __name__ == "__main__":
    main()

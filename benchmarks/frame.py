"""Measurements, targets and the tables that show them.

A figure is the result of several runs, with its median and its spread. A target judges a ratio of
two figures. Both are measured alternately within one run, because each alone varies with the
machine and its other load.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.surroundings import Surroundings, surroundings

NO_PROOF = "A quick run with small sizes and one round. It shows only that the rows work."


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure over several runs: its name, its unit and each run's value."""

    name: str
    unit: str
    runs: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(f"{self.name!r} was never measured.")

    @property
    def median(self) -> float:
        """Return the median, which one disturbed run hardly moves."""
        return statistics.median(self.runs)

    @property
    def low(self) -> float:
        """Return the smallest value of the runs."""
        return min(self.runs)

    @property
    def high(self) -> float:
        """Return the largest value of the runs."""
        return max(self.runs)


@dataclass(frozen=True, slots=True)
class Target:
    """Target of a row: its text, the figure that is judged, and the bound."""

    words: str
    figure: Measured
    bound: float
    at_most: bool

    @property
    def is_met(self) -> bool:
        """Return whether the median keeps to the bound."""
        if self.at_most:
            return self.figure.median <= self.bound
        return self.figure.median >= self.bound


@dataclass(frozen=True, slots=True)
class RowResult:
    """One row: its text, its targets and further figures.

    `beside` holds the two sides of a ratio and the parts of a time. `notes` explain the figures.
    `name` is the row's name on the command line.
    """

    row: str
    targets: tuple[Target, ...]
    beside: tuple[Measured, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = ""

    @property
    def heading(self) -> str:
        """Return the row's text and its name."""
        return f"{self.row} ({self.name})" if self.name and self.name != self.row else self.row

    @property
    def is_met(self) -> bool:
        """Return whether every target is met; False if the row measured nothing."""
        return bool(self.targets) and all(target.is_met for target in self.targets)


@dataclass(frozen=True, slots=True)
class Options:
    """Thoroughness of a measurement."""

    rounds: int = 3
    quick: bool = False

    def size(self, full: int, quick: int) -> int:
        """Return the full number of readers, rows or calls, or the small one if quick."""
        return quick if self.quick else full


Measure = Callable[[Options], RowResult]


def ratio(name: str, over: Measured, under: Measured) -> Measured:
    """Return one figure as a multiple of another, round by round."""
    if len(over.runs) != len(under.runs):
        raise ValueError(
            f"{name!r} needs as many runs of {over.name!r} ({len(over.runs)}) as of "
            f"{under.name!r} ({len(under.runs)})."
        )
    return Measured(name, "×", tuple(a / b for a, b in zip(over.runs, under.runs, strict=True)))


def percent(name: str, part: Measured, whole: Measured) -> Measured:
    """Return one figure as a percentage of another, round by round."""
    share = ratio(name, part, whole)
    return Measured(name, "%", tuple(100 * run for run in share.runs))


def in_turns(
    options: Options, sides: Mapping[str, Callable[[], float]], unit: str
) -> tuple[Measured, ...]:
    """Measure all sides once per round; return one figure each, in order.

    An uncounted round warms the machine up. Every second round runs the sides in reverse order, so
    no side is always first. A quick run has no warm-up.
    """
    runs: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(1 if options.quick else 0, options.rounds + 1):
        for name in list(sides) if number % 2 else list(reversed(sides)):
            took = sides[name]()
            if number:
                runs[name].append(took)
            say(f"  {f'round {number}' if number else 'warm-up'}: {name}: {shown(took, unit)}")
    return tuple(Measured(name, unit, tuple(each)) for name, each in runs.items())


def say(words: str) -> None:
    """Print progress to standard error; standard output holds only the table."""
    print(words, file=sys.stderr, flush=True)


# --- Output -----------------------------------------------------------------------------------


def shown(value: float, unit: str) -> str:
    """Format a value with its unit, to three figures; more would be noise."""
    size = abs(value)
    if size >= 100 or value == 0:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def with_spread(figure: Measured) -> str:
    """Format the median, with the range if there were several runs."""
    median = shown(figure.median, figure.unit)
    if len(figure.runs) == 1:
        return median
    low, high = (shown(value, "") for value in (figure.low, figure.high))
    return f"{median} ({low} to {high})"


def table(results: Sequence[RowResult], around: Surroundings, *, quick: bool = False) -> str:
    """Format all rows for a terminal: target, measured value, met or not."""
    head = ("asked", "measured", "met")
    aligned = [head, *(line for result in results for line in _lines(result, quick))]
    widths = [max(len(line[column]) for line in aligned) for column in range(len(head))]

    def text(line: tuple[str, str, str]) -> str:
        cells = (f"{words:<{width}}" for words, width in zip(line, widths, strict=True))
        return f"  {'  '.join(cells)}"

    lines = [NO_PROOF, ""] if quick else []
    lines.append(text(head))
    for result in results:
        lines += ["", result.heading, *(text(line) for line in _lines(result, quick))]
        # Notes may exceed the columns' width.
        lines += [f"    {note}" for note in result.notes]
    lines += ["", *around.lines()]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def markdown(results: Sequence[RowResult], around: Surroundings, *, quick: bool = False) -> str:
    """Format all rows as Markdown for the docs."""
    lines = [NO_PROOF, ""] if quick else []
    lines += ["| Row | Asked | Measured | Met |", "|---|---|---|---|"]
    for result in results:
        lines += [
            f"| {'' if number else result.heading} | {asked.strip()} | "
            f"{f'**{measured}**' if met and not quick else measured} | {met} |"
            for number, (asked, measured, met) in enumerate(_lines(result, quick))
        ]
    lines.append("")
    lines += [f"- {result.row}: {note}" for result in results for note in result.notes]
    lines += [f"- {line}" for line in around.lines()]
    return "".join(f"{line}\n" for line in lines)


def _lines(result: RowResult, quick: bool) -> list[tuple[str, str, str]]:
    """Return the lines of a row: its targets, then its further figures."""
    lines = [
        (target.words, with_spread(target.figure), _met(target, quick)) for target in result.targets
    ] or [("", "nothing", "no")]
    return lines + [(f"  {figure.name}", with_spread(figure), "") for figure in result.beside]


def as_json(results: Sequence[RowResult], around: Surroundings, options: Options) -> dict[str, Any]:
    """Return all rows as JSON, with every run of every figure."""
    return {
        **around.as_json(),
        "rounds": options.rounds,
        "quick": options.quick,
        "rows": [
            {
                "name": result.name,
                "row": result.row,
                "is_met": None if options.quick else result.is_met,
                "targets": [
                    {
                        "words": target.words,
                        "bound": target.bound,
                        "at_most": target.at_most,
                        "is_met": None if options.quick else target.is_met,
                        "figure": _figure(target.figure),
                    }
                    for target in result.targets
                ],
                "beside": [_figure(figure) for figure in result.beside],
                "notes": list(result.notes),
            }
            for result in results
        ],
    }


def _met(target: Target, quick: bool) -> str:
    """Format whether a target is met; a quick run judges nothing."""
    return "–" if quick else "yes" if target.is_met else "no"


def _figure(figure: Measured) -> dict[str, Any]:
    return {
        "name": figure.name,
        "unit": figure.unit,
        "median": figure.median,
        "low": figure.low,
        "high": figure.high,
        "runs": list(figure.runs),
    }


# --- Command line -----------------------------------------------------------------------------


def add_rounds(parser: argparse.ArgumentParser) -> None:
    """Add the options for rounds and sizes."""
    parser.add_argument("--rounds", type=_rounds, default=3, help="counted rounds (%(default)s)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes and one round, to check that the rows work; judges no target",
    )


def options_of(chosen: argparse.Namespace) -> Options:
    """Return the chosen options."""
    return Options(rounds=1 if chosen.quick else chosen.rounds, quick=chosen.quick)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for rounds and sizes, and for output files."""
    add_rounds(parser)
    parser.add_argument(
        "--json", type=_file, metavar="FILE", help="also write the figures to this file"
    )
    parser.add_argument(
        "--markdown", type=_file, metavar="FILE", help="also write the table as in the docs"
    )


def _rounds(text: str) -> int:
    rounds = int(text) if text.isdecimal() else 0
    if rounds < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid number of rounds; expected at least 1"
        )
    return rounds


def _file(text: str) -> Path:
    """Return a writable path.

    It is checked before anything is measured, so a wrong folder does not lose half an hour's
    result.
    """
    path = Path(text)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot be written; expected a file in an existing folder"
        )
    return path


def at_least_one(text: str) -> int:
    """Parse a number of readers, rows or workers, for `argparse`."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is too small; expected at least 1")
    return number


def end_in_good_order() -> None:
    """Exit cleanly on SIGTERM and SIGHUP, which also stops child processes."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda given, _: sys.exit(128 + given))


MISSED, FAILED, INTERRUPTED = 1, 3, 128 + signal.SIGINT


def carried_out(measures: Mapping[str, Measure], chosen: argparse.Namespace) -> int:
    """Measure all rows, show the results, and return the exit code.

    1: a target is missed. 3: a row failed. 130: interrupted. Results so far are shown and written
    in every case.
    """
    options = options_of(chosen)
    end_in_good_order()
    around = surroundings()
    results: list[RowResult] = []
    is_interrupted = False
    for name, measure in measures.items():
        try:
            results.append(_result(name, measure, options))
        except KeyboardInterrupt:
            is_interrupted = True
            say(f"Interrupted in {name}.")
            break
    around = around.at_the_end()
    print(table(results, around, quick=options.quick), end="", flush=True)
    if chosen.json:
        report = as_json(results, around, options)
        chosen.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    if chosen.markdown:
        chosen.markdown.write_text(markdown(results, around, quick=options.quick))
    if is_interrupted:
        return INTERRUPTED
    if not all(result.targets for result in results):
        return FAILED
    return 0 if options.quick or all(result.is_met for result in results) else MISSED


def _result(name: str, measure: Measure, options: Options) -> RowResult:
    """Return one row's result. If the row fails, return its error in the notes."""
    say(name)
    try:
        return replace(measure(options), name=name)
    except Exception as error:  # noqa: BLE001 -- every error is shown and counted
        traceback.print_exception(error)
        return RowResult(name, (), notes=tuple(_error_lines(error)), name=name)


def _error_lines(error: Exception) -> Iterator[str]:
    """Yield the lines of an error: failed commands print several."""
    first, *rest = str(error).splitlines() or [""]
    yield f"It failed: {type(error).__name__}: {first}"
    yield from rest


def run_alone(measure: Measure, argv: Sequence[str] | None = None) -> None:
    """Measure one row, print its table, and exit with the code of `carried_out`."""
    words = (sys.modules[measure.__module__].__doc__ or "").strip().partition("\n\n")[0]
    options = argparse.ArgumentParser(description=words)
    add_options(options)
    name = Path(sys.modules[measure.__module__].__file__ or measure.__module__).stem
    sys.exit(carried_out({name: measure}, options.parse_args(argv)))

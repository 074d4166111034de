"""
What a measurement is made of, and how it is shown.

A figure is never one number: it is what several runs gave, with its median and its spread. What
counts is a ratio of two figures that were taken in turns within one run, round by round, because
each of the two alone moves with the machine and with whatever else runs on it.
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

NO_PROOF = "A quick run, with small sizes and one round: it shows that the rows work, and no more."


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure, over several runs: what it is, its unit, and what each run gave."""

    name: str
    unit: str
    runs: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(f"{self.name!r} was not measured once.")

    @property
    def median(self) -> float:
        """The middle of the runs, which one disturbed run does not move far."""
        return statistics.median(self.runs)

    @property
    def low(self) -> float:
        """The least of the runs."""
        return min(self.runs)

    @property
    def high(self) -> float:
        """The most of the runs."""
        return max(self.runs)


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked of a row: its words, the figure that is judged, and the bound it is held to."""

    words: str
    figure: Measured
    bound: float
    at_most: bool

    @property
    def is_met(self) -> bool:
        """Whether the median keeps to the bound."""
        if self.at_most:
            return self.figure.median <= self.bound
        return self.figure.median >= self.bound


@dataclass(frozen=True, slots=True)
class RowResult:
    """
    One row: its words, what is asked of it, and what was measured beside it.

    Beside it stand the two sides of a ratio and the parts of a time; `notes` say what has to be
    known to read the figures. `name` is what it is asked for by.
    """

    row: str
    targets: tuple[Target, ...]
    beside: tuple[Measured, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = ""

    @property
    def heading(self) -> str:
        """What it is, and what it is asked for by."""
        return f"{self.row} ({self.name})" if self.name and self.name != self.row else self.row

    @property
    def is_met(self) -> bool:
        """Whether all that is asked is met. A row that measured nothing has met nothing."""
        return bool(self.targets) and all(target.is_met for target in self.targets)


@dataclass(frozen=True, slots=True)
class Options:
    """How thoroughly to measure."""

    rounds: int = 3
    quick: bool = False

    def size(self, full: int, quick: int) -> int:
        """How many readers, rows or calls: so many in full, so few where it only has to work."""
        return quick if self.quick else full


Measure = Callable[[Options], RowResult]


def ratio(name: str, over: Measured, under: Measured) -> Measured:
    """One figure as a multiple of another, round by round: the two of a round stand together."""
    if len(over.runs) != len(under.runs):
        raise ValueError(
            f"{name!r} needs as many runs of {over.name!r} ({len(over.runs)}) as of "
            f"{under.name!r} ({len(under.runs)})."
        )
    return Measured(name, "×", tuple(a / b for a, b in zip(over.runs, under.runs, strict=True)))


def percent(name: str, part: Measured, whole: Measured) -> Measured:
    """One figure as a percentage of another, round by round."""
    share = ratio(name, part, whole)
    return Measured(name, "%", tuple(100 * run for run in share.runs))


def in_turns(
    options: Options, sides: Mapping[str, Callable[[], float]], unit: str
) -> tuple[Measured, ...]:
    """
    Measure all sides once in each round, and return a figure for each, in the order given.

    A round that is not counted warms the machine up. Every other round goes through the sides
    backwards, so that none of them always comes first; a quick run warms nothing up.
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
    """Tell whoever waits how far it is; the table alone goes to standard output."""
    print(words, file=sys.stderr, flush=True)


# --- Shown to people ---------------------------------------------------------------------------


def shown(value: float, unit: str) -> str:
    """A value with its unit, to three figures: more than that is noise on any machine."""
    size = abs(value)
    if size >= 100 or value == 0:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()


def with_spread(figure: Measured) -> str:
    """The median, and from where to where the runs went if there was more than one."""
    median = shown(figure.median, figure.unit)
    if len(figure.runs) == 1:
        return median
    low, high = (shown(value, "") for value in (figure.low, figure.high))
    return f"{median} ({low} to {high})"


def table(results: Sequence[RowResult], around: Surroundings, *, quick: bool = False) -> str:
    """All rows for a terminal: what is asked, what was measured, whether it is met."""
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
        # A note is as long as it has to be.
        lines += [f"    {note}" for note in result.notes]
    lines += ["", *around.lines()]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def markdown(results: Sequence[RowResult], around: Surroundings, *, quick: bool = False) -> str:
    """The same for a page of the docs."""
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
    """What is asked, what was measured, whether it is met; below it what stands beside."""
    lines = [
        (target.words, with_spread(target.figure), _met(target, quick)) for target in result.targets
    ] or [("", "nothing", "no")]
    return lines + [(f"  {figure.name}", with_spread(figure), "") for figure in result.beside]


def as_json(results: Sequence[RowResult], around: Surroundings, options: Options) -> dict[str, Any]:
    """The same for programs, with every run of every figure."""
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
    """A quick run judges nothing."""
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


# --- Started from the command line -------------------------------------------------------------


def add_rounds(parser: argparse.ArgumentParser) -> None:
    """How thoroughly it measures."""
    parser.add_argument("--rounds", type=_rounds, default=3, help="counted rounds (%(default)s)")
    parser.add_argument(
        "--quick", action="store_true", help="small, and one round: does it work? Judges nothing"
    )


def options_of(chosen: argparse.Namespace) -> Options:
    """What was chosen of them."""
    return Options(rounds=1 if chosen.quick else chosen.rounds, quick=chosen.quick)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The same, and where the table goes beside the terminal."""
    add_rounds(parser)
    parser.add_argument("--json", type=_file, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--markdown", type=_file, metavar="FILE", help="and the table as it stands in the docs"
    )


def _rounds(text: str) -> int:
    rounds = int(text) if text.isdecimal() else 0
    if rounds < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rounds; expected at least 1")
    return rounds


def _file(text: str) -> Path:
    """Looked at before anything is measured: what took half an hour is not lost to a folder."""
    path = Path(text)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot be written; expected a file in a folder that is there"
        )
    return path


def at_least_one(text: str) -> int:
    """How many readers, rows or workers there are to be; for `argparse`."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not enough; expected at least 1")
    return number


def end_in_good_order() -> None:
    """
    Whoever ends this process early, or closes its terminal, finds no server and no process left
    behind.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda given, _: sys.exit(128 + given))


MISSED, BROKE_OFF, INTERRUPTED = 1, 3, 128 + signal.SIGINT


def carried_out(measures: Mapping[str, Measure], chosen: argparse.Namespace) -> int:
    """
    Measure all of them, show what came of it, and return the exit code.

    1 if a target is missed, 3 if a row broke off, 130 if somebody interrupted it: what was measured
    until then is shown and written all the same.
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
        told = as_json(results, around, options)
        chosen.json.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    if chosen.markdown:
        chosen.markdown.write_text(markdown(results, around, quick=options.quick))
    if is_interrupted:
        return INTERRUPTED
    if not all(result.targets for result in results):
        return BROKE_OFF
    return 0 if options.quick or all(result.is_met for result in results) else MISSED


def _result(name: str, measure: Measure, options: Options) -> RowResult:
    """One row's result. One that breaks off has shown nothing, and the others still run."""
    say(name)
    try:
        return replace(measure(options), name=name)
    except Exception as error:  # noqa: BLE001 -- whatever it was, it is shown and counted
        traceback.print_exception(error)
        return RowResult(name, (), notes=tuple(_said_by(error)), name=name)


def _said_by(error: Exception) -> Iterator[str]:
    """What broke it off, a line each, since a failed command tells of itself in many."""
    first, *rest = str(error).splitlines() or [""]
    yield f"It broke off: {type(error).__name__}: {first}"
    yield from rest


def run_alone(measure: Measure, argv: Sequence[str] | None = None) -> None:
    """Measure one row, print its table, and end with the exit code of `carried_out`."""
    words = (sys.modules[measure.__module__].__doc__ or "").strip().partition("\n\n")[0]
    options = argparse.ArgumentParser(description=words)
    add_options(options)
    name = Path(sys.modules[measure.__module__].__file__ or measure.__module__).stem
    sys.exit(carried_out({name: measure}, options.parse_args(argv)))

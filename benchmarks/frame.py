"""Measurements, targets and the tables that show them.

A figure is the result of several runs, with its median and its spread. A target judges a ratio of
two figures. Within a run the two figures are measured alternately, because each single figure
varies with the machine and its other load.
"""

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.surroundings import Surroundings

NO_PROOF = "A quick run with small sizes and one round. It shows only that the rows work."


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure of several runs: its name, its unit and the value of each run."""

    name: str
    unit: str
    runs: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError(f"{self.name!r} was never measured.")

    @property
    def median(self) -> float:
        """Return the median, because one disturbed run hardly changes it."""
        return statistics.median(self.runs)


@dataclass(frozen=True, slots=True)
class Target:
    """A row's target: its text, the figure that the target judges, and the bound."""

    words: str
    figure: Measured
    bound: float
    at_most: bool

    @property
    def is_met(self) -> bool:
        """Return whether the median is within the bound."""
        if self.at_most:
            return self.figure.median <= self.bound
        return self.figure.median >= self.bound


def at_most(words: str, figure: Measured, bound: float) -> Target:
    """Return a target that is met if the median is at most the bound."""
    return Target(words, figure, bound, at_most=True)


def at_least(words: str, figure: Measured, bound: float) -> Target:
    """Return a target that is met if the median is at least the bound."""
    return Target(words, figure, bound, at_most=False)


@dataclass(frozen=True, slots=True)
class RowResult:
    """One row: its text, its targets and further figures.

    `beside` contains further figures, such as the two sides of a ratio, or the parts of a total
    time. `notes` explain the figures. `name` is the row's name on the command line.
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
    """Options that decide how thorough a measurement is."""

    rounds: int = 3
    quick: bool = False

    def size(self, full: int, quick: int) -> int:
        """Return `quick` in a quick run, else `full`: a number of readers, rows or calls."""
        return quick if self.quick else full


def ratio(name: str, over: Measured, under: Measured) -> Measured:
    """Divide one figure by another in each round; return the ratios as a figure."""
    if len(over.runs) != len(under.runs):
        raise ValueError(
            f"{name!r} needs as many runs of {over.name!r} ({len(over.runs)}) as of "
            f"{under.name!r} ({len(under.runs)})."
        )
    return Measured(name, "×", tuple(a / b for a, b in zip(over.runs, under.runs, strict=True)))


def percent(name: str, part: Measured, whole: Measured) -> Measured:
    """Return one figure as a percentage of another, for each round."""
    share = ratio(name, part, whole)
    return Measured(name, "%", tuple(100 * run for run in share.runs))


def in_turns(
    options: Options, sides: Mapping[str, Callable[[], float]], unit: str
) -> tuple[Measured, ...]:
    """Measure all sides once per round; return one figure for each side, in order.

    A first round, which does not count, warms the machine up. Every second round runs the sides in
    reverse order, so no side is always first. A quick run has no warm-up.
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
    """Format a value and its unit; more than three significant digits would be noise."""
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
    return f"{median} ({shown(min(figure.runs), '')} to {shown(max(figure.runs), '')})"


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


def _met(target: Target, quick: bool) -> str:
    """Format whether a target is met. A quick run does not judge targets."""
    return "–" if quick else "yes" if target.is_met else "no"

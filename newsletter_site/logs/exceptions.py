"""
A fault as it may stand in the log: of which kind it was and where, and never in its own words.

A database repeats in its words what it was given, a web client the address that it asked for: an
address may be a person's, and a link is a permission. The kind, the server's own code, the name of
a constraint and the lines of our code say as much to whoever mends it, and nothing of anybody.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Causes may go round in a circle.
MOST_CAUSES = 10
# The first and the last places are the ones that tell something.
MOST_PLACES = 40


@dataclass(frozen=True, slots=True)
class ErrorSummary:
    """The kind of a fault and those of its causes, and where it passed through, outermost first."""

    kinds: tuple[str, ...]
    places: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Its kinds as one text."""
        return ", from ".join(self.kinds)


def summarise(error: BaseException) -> ErrorSummary:
    """What may be said of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{_short(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
    if len(places) > MOST_PLACES:
        half = MOST_PLACES // 2
        places[half:-half] = [f"… {len(places) - MOST_PLACES} more …"]
    return ErrorSummary(tuple(describe_type(each) for each in iter_causes(error)), tuple(places))


def describe_type(error: BaseException) -> str:
    """The kind of one error; of the database's also its code and the constraint, if it has them."""
    diagnostics = getattr(error, "diag", None)
    told = (getattr(error, "sqlstate", None), getattr(diagnostics, "constraint_name", None))
    return " ".join([type(error).__qualname__, *(str(each) for each in told if each)])


def iter_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it came from, the nearest first; not what it was raised in spite of."""
    each = error
    for _ in range(MOST_CAUSES):
        if each is None:
            return
        yield each
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def _short(filename: str) -> str:
    """The file from where it can be found again: our own below the checkout, others by package."""
    path = Path(filename)
    if path.is_relative_to(ROOT) and "site-packages" not in path.parts:
        return str(path.relative_to(ROOT))
    if "site-packages" in path.parts:
        return "/".join(path.parts[path.parts.index("site-packages") + 1 :])
    return path.name

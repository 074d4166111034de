"""Describe errors for the log by type and place, without their messages."""

import traceback
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_CAUSES = 10  # a limit, because the causes of an error may form a cycle
MAX_FRAMES = 40


def summarise(error: BaseException) -> str:
    """Return the types of an error and its causes as one text."""
    return ", from ".join(map(describe_type, iter_causes(error)))


def frames_of(error: BaseException) -> list[str]:
    """Return the places in the code that an error passed, outermost first."""
    frames = [
        f"{_short(frame.filename)}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    if len(frames) > MAX_FRAMES:
        half = MAX_FRAMES // 2
        frames[half:-half] = [f"… {len(frames) - MAX_FRAMES} more …"]
    return frames


def describe_type(error: BaseException) -> str:
    """Return the type of an error.

    For a database error, add its code, and the constraint if there is one.
    """
    diagnostics = getattr(error, "diag", None)
    more = (getattr(error, "sqlstate", None), getattr(diagnostics, "constraint_name", None))
    return " ".join([type(error).__qualname__, *(str(each) for each in more if each)])


def iter_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes, nearest first, without suppressed contexts."""
    each = error
    for _ in range(MAX_CAUSES):
        if each is None:
            return
        yield each
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)


def _short(filename: str) -> str:
    path = Path(filename)
    if "site-packages" in path.parts:
        return "/".join(path.parts[path.parts.index("site-packages") + 1 :])
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name

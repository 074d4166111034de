"""
The ids that stand on every line of the log: the only place that binds them.

An id is bound where what it names begins, and stands on each line until the scope around it ends,
whichever module writes the line. docs/logs.md lists the ids. Never a name, an address or a word
that somebody wrote: a log is kept elsewhere and for longer than what it tells of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

IDS = ("request", "author", "worker", "issue", "version", "batch", "attempt", "import")
# Those that an operator meets as 32 digits: Postmark shows an attempt so.
_WITHOUT_HYPHENS = ("request", "worker", "attempt")


def bind(**ids: UUID | int | str | None) -> None:
    """
    Have these ids on every line from here to the end of the scope; None takes one off.

    Raises `ValueError` for what is none of `IDS`.
    """
    strange = set(ids) - set(IDS)
    if strange:
        raise ValueError(f"{', '.join(sorted(strange))}: no id of the log; expected {IDS}")
    bind_contextvars(**{name: _as_written(name, value) for name, value in ids.items()})


def bound() -> dict[str, Any]:
    """The ids that stand on a line which is written now, in the order of `IDS`."""
    found = get_contextvars()
    return {name: found[name] for name in IDS if found.get(name) is not None}


@contextmanager
def scope() -> Iterator[None]:
    """What is bound in here ends here, with an error as well; what was bound before stays."""
    before = get_contextvars()
    try:
        yield
    finally:
        clear_contextvars()
        bind_contextvars(**before)


def inherited(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same work for a thread of its own, whose lines bear the ids that are bound now."""
    context = copy_context()

    def in_a_thread(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        # A copy for each: one context can be run in by one thread at a time.
        return context.copy().run(work, *arguments, **named)

    return in_a_thread


def _as_written(name: str, value: UUID | int | str | None) -> int | str | None:
    if isinstance(value, UUID):
        return value.hex if name in _WITHOUT_HYPHENS else str(value)
    return value

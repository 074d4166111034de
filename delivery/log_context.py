"""Ids that are added to the log lines of a scope (docs/logs.md).

Only ids are added to the log lines, never names, addresses or texts.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

IDS = ("request", "author", "worker", "issue", "version", "batch", "attempt", "import")
# These ids are written as 32 hexadecimal digits, as the provider shows attempts.
_WITHOUT_HYPHENS = ("request", "worker", "attempt")


def bind(**ids: UUID | int | str | None) -> None:
    """Bind ids to the log lines of this scope; None removes an id.

    Raises `ValueError` for unknown ids.
    """
    unknown = set(ids) - set(IDS)
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: no id of the log; expected {IDS}")
    for name, value in ids.items():
        if isinstance(value, UUID):
            value = value.hex if name in _WITHOUT_HYPHENS else str(value)
        bind_contextvars(**{name: value})


def bound() -> dict[str, Any]:
    """Return the ids that are bound now, in the order of `IDS`."""
    found = get_contextvars()
    return {name: found[name] for name in IDS if found.get(name) is not None}


@contextmanager
def scope() -> Iterator[None]:
    """Run a block; at its end, restore the log ids from before the block."""
    before = get_contextvars()
    try:
        yield
    finally:
        clear_contextvars()
        bind_contextvars(**before)


def inherited(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Wrap work for another thread, so that its lines have the ids that are bound now."""
    context = copy_context()

    def in_thread(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        # Copy the context for each call, because a context can run in only one thread at a time.
        return context.copy().run(work, *arguments, **named)

    return in_thread

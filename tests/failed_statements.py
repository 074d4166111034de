"""Read failed statements and their parameters from the server's own log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, connection


@contextmanager
def failed_statements() -> Iterator[list[DatabaseError]]:
    """Collect statements that fail on this thread's connection in the block.

    Also collect a statement if the code catches its error.
    """
    failed: list[DatabaseError] = []

    def watched(execute: Callable[..., Any], *statement: Any) -> Any:
        try:
            return execute(*statement)
        except DatabaseError as error:
            failed.append(error)
            raise

    with connection.execute_wrapper(watched):
        yield failed

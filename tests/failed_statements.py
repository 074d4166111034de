"""Which statements failed: the server writes each into its own log, with what it held."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, connection


@contextmanager
def failed_statements() -> Iterator[list[DatabaseError]]:
    """What failed on this thread's connection from here to the end of the block, caught or not."""
    failed: list[DatabaseError] = []

    def watched(execute: Callable[..., Any], *statement: Any) -> Any:
        try:
            return execute(*statement)
        except DatabaseError as error:
            failed.append(error)
            raise

    with connection.execute_wrapper(watched):
        yield failed

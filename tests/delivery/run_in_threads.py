"""Threads that run during a test, each with a separate database connection."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import connection

T = TypeVar("T")


class Beside(Generic[T]):
    """Work that starts at once in a thread."""

    def __init__(self, do: Callable[[], T]) -> None:
        self._do = do
        self._results: list[T] = []
        self._errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._results.append(self._do())
        except Exception as error:  # noqa: BLE001 -- it is raised again where the end is awaited
            self._errors.append(error)
        finally:
            connection.close()

    def end(self) -> T:
        """Wait for the end; return the result, or raise the error."""
        self._thread.join(timeout=60)
        assert not self._thread.is_alive()
        if self._errors:
            raise self._errors[0]
        return self._results[0]


def at_once(count: int, do: Callable[[], T]) -> list[T]:
    """Do it in this number of threads at the same moment; return each result."""
    barrier = threading.Barrier(count, timeout=30)

    def one_of_them() -> T:
        connection.ensure_connection()
        barrier.wait()
        return do()

    return [each.end() for each in [Beside(one_of_them) for _ in range(count)]]

"""
Puts a question to the database, and waits for the answer only so long.

A database that hangs sends no error: whoever waits for it waits for good, and a probe that hangs
tells nothing. So the question is asked in a thread of its own, on a connection of its own. At most
one is on its way at a time, whoever asks meanwhile shares its answer, and so strangers who ask
often cost one connection and no more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

Answer = TypeVar("Answer")

# Longer than a busy database takes, and shorter than those who probe wait.
TIMEOUT_S = 2.0


class NoAnswerError(Exception):
    """The database gave no answer: `str()` says what happened instead, for an operator."""


class _OnItsWay(Generic[Answer]):
    """One question that was put."""

    def __init__(self) -> None:
        self.asked_at_s = time.monotonic()
        self.is_over = threading.Event()
        self.found: list[Answer] = []
        self.trouble: Exception | None = None


class BoundedQuery(Generic[Answer]):
    """
    A question with its bound. `question` gets a cursor in a transaction of its own, whose
    statements the server itself ends when they take longer than the bound.
    """

    def __init__(
        self, question: Callable[[CursorWrapper], Answer], *, within_s: float = TIMEOUT_S
    ) -> None:
        self._question = question
        self._within_s = within_s
        self._lock = threading.Lock()
        self._on_its_way: _OnItsWay[Answer] | None = None

    def answer(self) -> Answer:
        """
        The answer, within the bound; raises `NoAnswerError` where there is none.

        Whoever comes while a question hangs does not wait longer than is left of its bound.
        """
        with self._lock:
            asked = self._on_its_way
            if asked is None:
                asked = _OnItsWay()
                asks = threading.Thread(
                    target=self._ask, args=[asked], name="asks the database", daemon=True
                )
                try:
                    asks.start()
                except RuntimeError as error:  # No thread is left: the next one may have one.
                    raise NoAnswerError(f"it could not be asked: {error}") from error
                self._on_its_way = asked
        left_s = asked.asked_at_s + self._within_s - time.monotonic()
        if not asked.is_over.wait(max(0.0, left_s)):
            raise NoAnswerError(f"nothing came within {self._within_s:g} seconds")
        if asked.trouble is not None:
            said = " ".join(str(asked.trouble).split()) or "nothing more"
            raise NoAnswerError(f"{type(asked.trouble).__name__}: {said}") from asked.trouble
        return asked.found[0]

    def _ask(self, asked: _OnItsWay[Answer]) -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                # For this transaction only, so that it holds behind a pooler. It also ends what
                # waits for a lock.
                cursor.execute(
                    "SELECT set_config('statement_timeout', %s, true)",
                    [f"{int(self._within_s * 1000)}ms"],
                )
                asked.found.append(self._question(cursor))
        except Exception as trouble:  # noqa: BLE001 -- it is handed to whoever waits
            asked.trouble = trouble
        finally:
            try:
                connection.close()
            except Exception as trouble:  # noqa: BLE001 -- the same
                asked.trouble = asked.trouble or trouble
            with self._lock:
                self._on_its_way = None
            asked.is_over.set()

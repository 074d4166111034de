"""
Looks from a connection of its own at what a migration waits for while it waits.

It looks only where a statement takes longer than a good part of the patience for one lock; an
ordinary run never needs it, and opens no second connection for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import Error
from django.db.backends.base.base import BaseDatabaseWrapper

from newsletter_site.migrating.lock_holders import Wait, wait_of

logger = logging.getLogger(__name__)

LOOKS_IN_ONE_PATIENCE = 3


class Watch:
    """`seen`: what was waited for when somebody last looked, since that was last forgotten."""

    def __init__(self, connection: BaseDatabaseWrapper, lock_s: float) -> None:
        self._onlooker = connection.copy()
        # One thread at a time looks; the connection is kept, so that the next look is quick.
        self._onlooker.inc_thread_sharing()
        self._every_s = lock_s / LOOKS_IN_ONE_PATIENCE
        self.seen: Wait | None = None

    def close(self) -> None:
        """No more looks."""
        self._onlooker.close()

    @contextmanager
    def over(
        self, session: int | None, on_wait: Callable[[Wait, float], None] | None = None
    ) -> Iterator[None]:
        """
        Look again and again during the block at what `session` waits for.

        `on_wait` is told, in the thread that looks, what it waits for and for how many seconds.
        """
        is_over = threading.Event()
        looking = threading.Thread(
            target=self._look, args=(session, is_over, on_wait), name="migrate-watch", daemon=True
        )
        looking.start()
        try:
            yield
        finally:
            is_over.set()
            looking.join()

    def _look(
        self,
        session: int | None,
        is_over: threading.Event,
        on_wait: Callable[[Wait, float], None] | None,
    ) -> None:
        since = 0.0
        try:
            while not is_over.wait(self._every_s):
                # Each look is a transaction of its own: an index that is built concurrently
                # waits for every one that is open.
                with self._onlooker.cursor() as cursor:
                    wait = wait_of(cursor, session)
                now = time.monotonic()
                if wait is None:
                    since = 0.0
                    continue
                since = since or now
                self.seen = wait
                if on_wait is not None:
                    on_wait(wait, now - since)
        except Error as error:
            # Then nobody can say what is waited for; the migration itself goes on.
            logger.debug("the watch of a migration ended: %s", type(error).__name__)
            self._onlooker.close()

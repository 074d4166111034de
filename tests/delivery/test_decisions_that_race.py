"""Who decides, who starts a call and who decides the same at once: one comes first."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection

from delivery.queue import control
from delivery.queue.short_transaction import short_transaction
from delivery.queue.split import lock_edition
from tests.delivery.beside import at_once
from tests.delivery.newsroom import Newsroom


def test_whoever_decides_holds_the_edition(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    other = connection.copy()
    try:
        with short_transaction() as cursor, other.cursor() as another:
            lock_edition(cursor, edition.pk)
            with pytest.raises(OperationalError, match="could not obtain lock"):
                another.execute("SELECT FROM edition FOR NO KEY UPDATE NOWAIT")
    finally:
        other.close()


def test_nothing_left_behind_counts_twice_when_many_cancel_at_once(
    newsroom: Newsroom, small_batches: None
) -> None:
    edition = newsroom.publish(readers=6)
    withdrawn = at_once(4, lambda: control.cancel(edition.pk))
    assert sorted(withdrawn, key=str) == [6, None, None, None]
    assert newsroom.books(edition).withdrawn == 6

"""What an author, an operator and a worker do in a scenario, each with the real code."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from delivery import chores
from delivery.books import Books
from delivery.edition_state import EditionState, state_of
from delivery.models import Edition
from delivery.queue.books import books_of
from delivery.queue.claim import claim
from delivery.queue.start import start
from publishing.content import Content
from publishing.publish import Published, edition_under, publish
from tests.crash_points.points import watch
from tests.crash_points.provider import Provider
from tests.delivery.newsroom import Newsroom

LETTER = Content.written("Swifts", "<p>Dear {{ name|reader }}</p>", "")
KEY = "the-author-pressed-once"


@dataclass(frozen=True)
class Stage:
    """What a scenario begins with: who publishes, and to how many."""

    author: uuid.UUID
    readers: int


class Hands:
    """One process at work on a stage."""

    def __init__(self, stage: Stage, provider: Provider) -> None:
        self.stage = stage
        self._provider = provider
        self._newsroom = Newsroom()
        self._dispatcher = self._newsroom.dispatcher()

    # --- What people do -------------------------------------------------------------------------

    def publish(self) -> Published:
        """The author's form, with the same key each time."""
        return publish(self.stage.author, KEY, LETTER, hold_s=0)

    @property
    def edition(self) -> Edition | None:
        """What was published, if it was."""
        with watch.looking_away():
            return edition_under(self.stage.author, KEY)

    @property
    def the_edition(self) -> Edition:
        """What was published."""
        edition = self.edition
        assert edition is not None
        return edition

    def the_fault_is_put_right(self) -> None:
        """Whatever the provider found wrong is wrong no more."""
        self.tell_the_provider("set_right")

    def tell_the_provider(self, question: str, *arguments: Any) -> Any:
        """Not the work of any worker, so it has no points."""
        with watch.looking_away():
            return self._provider.ask(question, *arguments)

    # --- What a worker does ---------------------------------------------------------------------

    def step(self) -> bool:
        """One call or one look-up that is due."""
        return self._dispatcher.step()

    def watch_over_the_queue(self) -> None:
        """What a worker does every few seconds besides."""
        self._newsroom.sweep()
        chores.do_all()

    def work(self) -> None:
        """Everything that is due now."""
        self.watch_over_the_queue()
        while self.step():
            pass

    def a_worker_is_lost(self, *, before_its_call: bool) -> None:
        """Some other worker took a batch, and is heard of no more."""
        with watch.looking_away():
            claimed = claim(uuid.uuid4(), lease_s=1)
            assert claimed is not None
            if not before_its_call:
                start(claimed, uuid.uuid4(), uuid.uuid4(), deadline_s=1, lease_s=1)

    def time_passes(self, seconds: float) -> None:
        """Every stored time moves into the past."""
        with watch.looking_away():
            self._newsroom.let_time_pass(seconds)

    # --- What is seen ---------------------------------------------------------------------------

    def books(self) -> Books:
        """The books of the edition."""
        with watch.looking_away():
            return books_of(self.the_edition.pk)

    def state(self) -> EditionState:
        """How the edition stands."""
        return state_of(self.books())

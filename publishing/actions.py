"""What a person may do to an edition, by the name it has on the page and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from delivery.models import Edition
from delivery.queue import control


class CannotDoThatError(Exception):
    """The edition is not in a state that allows the action; the sentence says which it is in."""


def resume(edition: Edition) -> None:
    """
    Let a stopped edition go on: one batch first, the rest once Postmark has judged it.

    Raises `CannotDoThatError` if it is not stopped.
    """
    if not control.resume(edition.pk):
        raise CannotDoThatError(nothing_to_resume(edition))


def nothing_to_resume(edition: Edition) -> str:
    """What is said of an edition that is not stopped, wherever resuming it is asked for."""
    return f"“{edition.title}” is not stopped, so there is nothing to resume."


ACTIONS: Mapping[str, Callable[[Edition], None]] = {"resume": resume}

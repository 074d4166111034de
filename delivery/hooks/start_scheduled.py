"""Who starts an issue that waited for its time: asked by delivery, answered from above.

Who is in an audience is no question for delivery; `newsletter_site/wiring.py` registers who
knows."""

from typing import Protocol


class Starter(Protocol):
    """Starts scheduled editions."""

    def start_sent_before_restore(self, edition: int) -> bool:
        """Publish a scheduled edition to everyone confirmed now and hold it back for a person,
        because the provider has copies of it. False if it was no scheduled one any more."""


_registered: list[Starter] = []


def register(starter: Starter) -> None:
    """Have this one asked from now on."""
    _registered[:] = [starter]


def registered() -> Starter:
    """Who is asked."""
    return _registered[0]

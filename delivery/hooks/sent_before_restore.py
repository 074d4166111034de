"""Starts and pauses a scheduled edition that was sent before a restore; `newsletter_site/wiring.py`
registers the function."""

from collections.abc import Callable

_registered: list[Callable[[int], bool]] = []


def register(starter: Callable[[int], bool]) -> None:
    """Make `starter` the one that `start_sent_before_restore` calls."""
    _registered[:] = [starter]


def start_sent_before_restore(edition: int) -> bool:
    """Publish a scheduled edition and pause it, because the provider has copies of it. False if it
    is not scheduled any more."""
    return _registered[0](edition)

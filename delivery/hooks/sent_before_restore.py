"""A hook that starts and pauses a scheduled edition sent before a restore.

`newsletter_site/wiring.py` registers the function."""

from collections.abc import Callable

_registered: list[Callable[[int], bool]] = []


def register(starter: Callable[[int], bool]) -> None:
    """Register `starter` as the function that `start_sent_before_restore` calls."""
    _registered[:] = [starter]


def start_sent_before_restore(edition: int) -> bool:
    """Publish a scheduled edition and pause it, because the provider has copies of it.

    Returns False if it is no longer scheduled."""
    return _registered[0](edition)

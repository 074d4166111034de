"""A hook for a scheduled edition that was sent before a restore.

The registered function publishes and pauses the edition.
`newsletter_site/register_hooks_and_tasks.py` registers it.
"""

from collections.abc import Callable

_registered: list[Callable[[int], bool]] = []


def register(starter: Callable[[int], bool]) -> None:
    """Register `starter` as the function that `start_sent_before_restore` calls."""
    _registered[:] = [starter]


def start_sent_before_restore(edition: int) -> bool:
    """Publish and pause a scheduled edition that the provider already has copies of.

    Returns False if the edition is no longer scheduled.
    """
    return _registered[0](edition)

"""
Joins delivery to the apps it may not import.

Imports run one way (docs/architecture.md); what delivery needs from above is registered here.
"""

from __future__ import annotations

from delivery import readers
from subscribers.readers import RegisteredReaders


def join() -> None:
    """Register who answers delivery's questions. Called once, when the apps are ready."""
    readers.register(RegisteredReaders())

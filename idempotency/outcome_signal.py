"""
Tells whoever listens how a post under a key ended, a form's or a call's.

What they do with it is their matter. This app counts nothing and knows nobody; the site joins a
listener to it.
"""

from __future__ import annotations

import logging
from enum import StrEnum

from django.dispatch import Signal

logger = logging.getLogger(__name__)

# Sent with `ended`, after whatever the post did was committed or rolled back.
form_posted = Signal()


class Ended(StrEnum):
    """How a post ended that was ready to be worked on, or known already."""

    DONE = "done"
    REPLAY = "replay"
    OTHER_CONTENT = "other_content"
    BUSY = "busy"


def tell(ended: Ended) -> None:
    """Say how a post ended. A listener that fails is logged and changes nothing of the answer."""
    for listener, fault in form_posted.send_robust(sender=Ended, ended=ended):
        if isinstance(fault, Exception):
            logger.error("%r failed: %s", listener, type(fault).__name__)

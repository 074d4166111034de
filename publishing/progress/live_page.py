"""Polling of open pages with htmx.

Each answer holds the changed parts and the next poll.
"""

import hashlib
import random
import re
import secrets
from dataclasses import dataclass

from django.http import HttpRequest

_PAGE = re.compile(r"[0-9a-f]{16}")
_NUMBER = re.compile(r"[0-9]{1,4}")
# The parameters that a poll adds to the address of its page.
_PARAMETERS = ("seen", "same", "page", "hidden", "listed")


@dataclass(frozen=True, slots=True)
class Poll:
    """A poll: page name, tags of its content, number of polls without a change."""

    page: str
    seen: str
    unchanged: int
    is_hidden: bool
    listed: str

    def compare(self, parts: str) -> tuple[str, int]:
        """Return the tag of these parts, and how many polls in a row brought no news."""
        tag = tag_of(parts)
        return tag, self.unchanged + 1 if tag == self.seen else 0


def poll_from(request: HttpRequest) -> Poll | None:
    """Parse the poll in a request; None if it asks for the page itself."""
    if "HX-Request" not in request.headers:
        return None
    asked, page = request.GET, request.GET.get("page", "")
    return Poll(
        page=page if _PAGE.fullmatch(page) else "",
        seen=asked.get("seen", ""),
        unchanged=int(asked["same"]) if _NUMBER.fullmatch(asked.get("same", "")) else 0,
        is_hidden=asked.get("hidden") == "1",
        listed=asked.get("listed", ""),
    )


def next_poll(
    request: HttpRequest, after_s: float | None, *, seen: str = "", unchanged: int = 0
) -> dict[str, str]:
    """Return where an open page polls next, and when.

    It polls after a pause, or when it is visible again. The first answer names the page. Later
    pauses vary, which spreads the polls of many pages.
    """
    query = request.GET.copy()
    poll = poll_from(request)
    for name in _PARAMETERS:
        query.pop(name, None)
    query["seen"], query["same"] = seen, str(unchanged)
    if poll:
        query["page"] = poll.page or secrets.token_hex(8)
    if poll and after_s is not None:
        after_s *= random.uniform(0.9, 1.1)
    trigger = "look" if after_s is None else f"load delay:{after_s:.1f}s, look"
    return {"url": f"?{query.urlencode()}", "trigger": trigger}


def tag_of(parts: str) -> str:
    """Return a short tag of a page's content."""
    return hashlib.sha256(parts.encode()).hexdigest()[:16]

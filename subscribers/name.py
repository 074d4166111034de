"""The only place that decides whether a text may stand as a reader's name."""

from __future__ import annotations

from delivery.control_characters import CONTROL_CHARACTERS
from subscribers.address import Refusal
from subscribers.models.subscriber import LONGEST_NAME


def read_name(text: str) -> str | Refusal:
    """
    The name that `text` holds, or why it cannot be kept. Empty is a name too: many give none.

    Runs of blanks, tabs and line breaks become one blank, because a name goes into mail headers
    and into one line of a report. Other control characters are refused.
    """
    name = " ".join(text.split())
    if len(name) > LONGEST_NAME:
        return Refusal(f"The name has {len(name)} characters; at most {LONGEST_NAME} are allowed.")
    if CONTROL_CHARACTERS.search(name):
        return Refusal("The name contains control characters.")
    return name

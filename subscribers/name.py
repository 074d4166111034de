"""The only place that decides whether a text may stand as a reader's name."""

from __future__ import annotations

import re

from subscribers.address import Refusal
from subscribers.models.subscriber import CONTROL_CHARACTERS, LONGEST_NAME

_CONTROL = re.compile(CONTROL_CHARACTERS)


def read_name(text: str) -> str | Refusal:
    """
    The name that `text` holds, or why it cannot be kept. Empty is a name too: many give none.

    Runs of blanks, tabs and line breaks become one blank, because a name goes into mail headers
    and into one line of a report. Other control characters are refused.
    """
    name = " ".join(text.split())
    if len(name) > LONGEST_NAME:
        return Refusal(f"The name has {len(name)} characters; at most {LONGEST_NAME} are allowed.")
    # A NUL is none of the ranges, because PostgreSQL, which knows them too, cannot hold it at all.
    if "\0" in name or _CONTROL.search(name):
        return Refusal("The name contains control characters.")
    return name

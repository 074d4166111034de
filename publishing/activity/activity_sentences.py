"""
What stands in the log as a sentence: who did what to which thing. Pure.

The trail keeps what was done as it was said at the time, with the thing beside it: “Published
version 1 to 3 readers.” and the issue. Here the two become one sentence again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence around the name of a thing, which may be a link."""

    before: str
    thing: str
    after: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.before, self.thing))) + self.after


# Each with the words before and after the thing. Version 1 goes without saying.
_PATTERNS = (
    # Version 1 went out by itself at its time, to 3 readers.
    (re.compile(r"^Version 1\b (.*)$"), "scheduled", ", which {0}"),
    (re.compile(r"^Version (\d+)\b (.*)$"), "scheduled version {0} of", ", which {1}"),
    # Looked at the alarms, version 1. / The same as it was once kept.
    (re.compile(r"^(Looked at the alarms)(?: of)?, version 1$"), "{0} of", ""),
    (
        re.compile(r"^(Looked at the alarms)(?: of)?, version (\d+)$"),
        "{0} of version {1} of",
        "",
    ),
    # Dropped the copies from the command line, version 1.
    (re.compile(r"^(Dropped the copies)( from the command line), version 1$"), "{0} of", "{1}"),
    (
        re.compile(r"^(Dropped the copies)( from the command line), version (\d+)$"),
        "{0} of version {2} of",
        "{1}",
    ),
    # Downloaded the waiting readers of version 2 as CSV.
    (re.compile(r"^(Downloaded [\w ]+ readers) of version 1( as CSV)$"), "{0} of", "{1}"),
    (
        re.compile(r"^(Downloaded [\w ]+ readers) of version (\d+)( as CSV)$"),
        "{0} of version {1} of",
        "{2}",
    ),
    # Published version 1 to 3 readers. / Published version 2 to everyone confirmed: 3 readers.
    (re.compile(r"^(\w+) version 1\b(.*)$"), "{0}", "{1}"),
    (re.compile(r"^(\w+) version (\d+)\b(.*)$"), "{0} version {1} of", "{2}"),
    # Resumed, version 1. / Paused from the command line, version 2.
    (re.compile(r"^([\w ]+?)( from the command line)?, version 1$"), "{0}", "{1}"),
    (
        re.compile(r"^([\w ]+?)( from the command line)?, version (\d+)$"),
        "{0} version {2} of",
        "{1}",
    ),
    (re.compile(r"^(Made)( (?:un)?listed)$"), "{0}", "{1}"),
    # Imports and readers.
    (re.compile(r"^(Uploaded|Imported|Dropped)([,; ].*)$"), "{0}", "{1}"),
    (re.compile(r"^(Downloaded the record)$"), "{0} of", ""),
    (re.compile(r"^(Erased)$"), "{0}", ""),
    # The admin's own.
    (re.compile(r"^(Added|Deleted)$"), "{0}", ""),
    (re.compile(r"^(Changed .+)$"), "{0} of", ""),
)


def said(sentence: str, thing: str) -> Said:
    """The sentence of the trail with its thing in its place, without a full stop."""
    words = sentence.strip().removesuffix(".")
    if not thing:
        return Said(_begun(words), "")
    for pattern, before, after in _PATTERNS:
        match = pattern.match(words)
        if match:
            parts = [part or "" for part in match.groups()]
            return Said(_begun(before.format(*parts)), thing, after.format(*parts))
    return Said(f"{_begun(words)}:", thing)


def _begun(words: str) -> str:
    """With a small first letter, because a name comes before; not where it is a word like DNS."""
    return words[:1].lower() + words[1:] if words[1:2].islower() else words

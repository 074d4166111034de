"""Filters of the list of readers.

Filters can be combined; the list's URL contains them.
"""

from collections.abc import Mapping
from datetime import date
from typing import NamedTuple
from urllib.parse import urlencode

from delivery.control_characters import strip_invisible
from subscribers.models import Subscriber
from subscribers.models.saved_filter import IMPORT_SOURCE, LONGEST_SEARCH

SHORTEST_PART = 3  # a trigram has three characters
LARGEST_ID = 2**31 - 1  # the largest id of a tag


class ReaderFilter(NamedTuple):
    """What readers must match; empty values match every reader."""

    state: str = ""
    text: str = ""
    tag: int | None = None
    source: str = ""  # a value of `Subscriber.Source`, or one import, such as `import-17`
    since: date | None = None  # first and last day of signing up, in the newsletter's time zone
    until: date | None = None

    @property
    def is_prefix(self) -> bool:
        """Return whether the text is so short that only starts of addresses can match."""
        # In Chinese and other scripts, a whole name may be this short, so a text that is not ASCII
        # matches any part of a name or address.
        return 0 < len(self.text) < SHORTEST_PART and self.text.isascii() and self.text.isalnum()

    @property
    def import_id(self) -> int | None:
        return read_number(self.source.removeprefix(IMPORT_SOURCE))

    @property
    def is_state_only(self) -> bool:
        return self == ReaderFilter(self.state)

    @property
    def parameters(self) -> dict[str, str]:
        """Return the filters as parameters of the list's URL, without empty parameters."""
        texts = {
            "state": self.state,
            "q": self.text,
            "tag": str(self.tag or ""),
            "source": self.source,
            "since": self.since.isoformat() if self.since else "",
            "until": self.until.isoformat() if self.until else "",
        }
        return {name: text for name, text in texts.items() if text}

    def query(self, **more: object) -> str:
        """Return these filters as the query of a URL; `more` are other parameters."""
        return "?" + urlencode({**self.parameters, **more})


def read_filter(parameters: Mapping[str, str]) -> ReaderFilter:
    """Read the filters in a URL; a filter with an unknown value selects all readers."""
    state, source = parameters.get("state", ""), parameters.get("source", "")
    text = read_search(parameters.get("q", ""))
    chosen = ReaderFilter(
        state=state if state in Subscriber.State.values else "",
        text=text,
        tag=read_number(parameters.get("tag", "")),
        source=source,
        since=_day(parameters.get("since", "")),
        until=_day(parameters.get("until", "")),
    )
    is_source = source in Subscriber.Source.values
    is_import = source.startswith(IMPORT_SOURCE) and chosen.import_id is not None
    if is_import:
        return chosen._replace(source=f"{IMPORT_SOURCE}{chosen.import_id}")
    return chosen if is_source else chosen._replace(source="")


def read_search(typed: str) -> str:
    """Read the text of a search, without invisible characters around it."""
    return strip_invisible(typed.replace("\0", ""))[:LONGEST_SEARCH]


def read_number(text: str, largest: int = LARGEST_ID) -> int | None:
    """Read an id or a number in a URL or form; None if the text is not a number."""
    is_number = text.isascii() and text.isdecimal() and len(text) < 20
    return int(text) if is_number and int(text) <= largest else None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None

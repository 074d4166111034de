"""What goes out at this moment, as the overview shows it and its later readings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from delivery.humanise import duration
from delivery.rules.edition_state import EditionState
from publishing.content.edition_content import Content
from publishing.editions.status import EditionStatus
from publishing.progress.progress import GLYPHS, TONES, counts_of, sentence_of
from publishing.progress_bar import Part, label_of, parts_of

# What is on its way by itself; anything else that is open waits for a person.
BY_ITSELF = frozenset({EditionState.HELD, EditionState.SENDING})


@dataclass(frozen=True, slots=True)
class GoingOut:
    """
    One edition on its way. `text` holds what changes from one reading to the next, by the name it
    has in the template.
    """

    name: str
    issue: UUID
    version: int
    title: str
    text: dict[str, str]
    bar: list[Part]
    label: str
    glyph: str
    tone: str
    is_held: bool


def going_out(statuses: Sequence[EditionStatus], zone: ZoneInfo) -> list[GoingOut]:
    """Those that are on their way, in the order in which they were published."""
    return [_reading(status, zone) for status in statuses if status.state in BY_ITSELF]


def title_of(status: EditionStatus) -> str:
    """The title as a page shows it."""
    return Content(status.books.title, "", "").plain_title


def live_json(going: Sequence[GoingOut], *, here: str) -> dict[str, Any]:
    """
    What the script writes into the page. `here` is what the page has to have been made with:
    where it is another, no text could be put right, and the page says that there is news.
    """
    return {
        "here": here,
        "going": {
            one.name: {
                "text": one.text,
                "bar": [asdict(part) for part in one.bar],
                "label": one.label,
                "glyph": one.glyph,
                "tone": one.tone,
            }
            for one in going
        },
    }


def here_of(going: Sequence[GoingOut], *, needs: int) -> str:
    """What is there to be shown, without what changes all the time."""
    return " ".join([*(one.name for one in going), f"needs-{needs}"])


def _reading(status: EditionStatus, zone: ZoneInfo) -> GoingOut:
    books, counts = status.books, counts_of(status.books)
    after = _after_the_state(status, zone)
    return GoingOut(
        name=f"edition-{books.edition}",
        issue=books.issue,
        version=books.version,
        title=title_of(status),
        text={
            "count": f"{books.sent:,}",
            "of": f"of {books.audience:,} sent",
            "left": _left(status, zone),
            "state": f"{status.words.capitalize()}{'.' if after[:1].isupper() else ''}",
            "sentence": after,
        },
        bar=parts_of(counts),
        label=label_of(counts, books.audience),
        glyph=GLYPHS[status.state],
        tone=TONES.get(status.state, ""),
        is_held=status.state is EditionState.HELD,
    )


def _after_the_state(status: EditionStatus, zone: ZoneInfo) -> str:
    """The sentence of its page without its first word, which stands before it with the glyph."""
    sentence = sentence_of(status, zone).removeprefix("Held. ").removeprefix("Sending. ")
    rate = status.books.rate_per_s * 60
    if sentence == "Sending, and nothing is stuck.":
        return (
            f"at {rate:,.0f} a minute, and nothing is stuck." if rate else "and nothing is stuck."
        )
    return f"at {rate:,.0f} a minute. {sentence}" if rate else sentence


def _left(status: EditionStatus, zone: ZoneInfo) -> str:
    if status.state is not EditionState.SENDING or status.eta_s is None:
        return ""
    done = (status.books.now + timedelta(seconds=status.eta_s)).astimezone(zone)
    return f"about {duration(status.eta_s)} left, done {done:%H:%M}"

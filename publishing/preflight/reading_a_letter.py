"""
What stands in a letter: its passages, its links, its pictures. Pure.

It reads HTML as forgivingly as a mail program does; nothing that an author writes makes it fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

from publishing.words_for_numbers import ordinal

_BLOCKS = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
    **dict.fromkeys(("td", "th", "caption"), "table"),
    **dict.fromkeys(("li", "dt", "dd"), "list"),
    "p": "paragraph",
    "blockquote": "quotation",
}
_SILENT = {"script", "style", "title", "head"}


@dataclass(frozen=True, slots=True)
class Passage:
    """Words that stand together, and where: “in the second paragraph”."""

    place: str
    words: str


@dataclass(frozen=True, slots=True)
class Link:
    """An address that a reader may open, and the words on it."""

    address: str
    words: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture; `alt` is None where nothing at all is said in its place."""

    address: str
    alt: str | None


@dataclass(frozen=True, slots=True)
class Letter:
    """What was found in the HTML of a letter."""

    passages: tuple[Passage, ...]
    links: tuple[Link, ...]
    pictures: tuple[Picture, ...]


def read_letter(html: str) -> Letter:
    """Read the HTML of a letter."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_passage()
    return Letter(tuple(reader.passages), tuple(reader.links), tuple(reader.pictures))


def read_text(text: str) -> tuple[Passage, ...]:
    """The passages of a text part: what blank lines divide."""
    parts = (part.strip() for part in re.split(r"\n\s*\n", text))
    return tuple(
        Passage(f"in the {ordinal(number)} paragraph of the text part", part)
        for number, part in enumerate(filter(None, parts), 1)
    )


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.passages: list[Passage] = []
        self.links: list[Link] = []
        self.pictures: list[Picture] = []
        self._paragraphs = 0
        self._kind = ""
        self._said: list[str] = []
        self._link: tuple[str, list[str]] | None = None
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: (value or "").strip() for name, value in reversed(attrs)}
        if tag in _SILENT:
            self._silent += 1
        elif tag == "body":
            self._silent = 0  # whatever was left open before it
        elif tag in _BLOCKS:
            self.end_passage()
            self._kind = _BLOCKS[tag]
        elif tag == "a" and "href" in given:
            self._end_link()
            self._link = (given["href"], [])
        elif tag == "img":
            self.pictures.append(Picture(given.get("src", ""), given.get("alt")))
            if self._link:
                self._link[1].append(given.get("alt") or "")
        elif tag == "br":
            self._said.append(" ")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SILENT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "a":
            self._end_link()
        elif tag in _BLOCKS:
            self.end_passage()

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        self._said.append(data)
        if self._link:
            self._link[1].append(data)

    def end_passage(self) -> None:
        """What was said so far stands together."""
        self._end_link()
        words, kind = " ".join("".join(self._said).split()), self._kind
        self._said, self._kind = [], ""
        if not words:
            return
        if kind in ("", "paragraph"):
            self._paragraphs += 1
            place = f"in the {ordinal(self._paragraphs)} paragraph"
        else:
            place = f"in a {kind}"
        self.passages.append(Passage(place, words))

    def _end_link(self) -> None:
        if self._link:
            address, words = self._link
            self.links.append(Link(address, " ".join("".join(words).split())))
            self._link = None

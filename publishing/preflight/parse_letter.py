"""
What stands in a letter: its passages, its links, its pictures. Pure.

It reads HTML as the mail has it (delivery/mail/normalise_html.py). Nothing that an author writes
makes it
fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from delivery.humanise import ordinal
from delivery.mail.field_placeholders import FieldPlaceholders
from delivery.mail.normalise_html import normalise, parse_attributes, split_tags

_BLOCKS = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
    **dict.fromkeys(("td", "th", "caption"), "table"),
    **dict.fromkeys(("li", "dt", "dd"), "list"),
    "p": "paragraph",
    "blockquote": "quotation",
}


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
    """Read the HTML of a letter as the mail has it, in time linear in its length."""
    stand_ins = FieldPlaceholders(html)
    reader = _Reader(stand_ins)
    for words, tag, rest in split_tags(normalise(stand_ins.text)):
        reader.take(words, tag, rest)
    reader.end_passage()
    return Letter(tuple(reader.passages), tuple(reader.links), tuple(reader.pictures))


def read_text(text: str) -> tuple[Passage, ...]:
    """The passages of a text part: what blank lines divide."""
    parts = (part.strip() for part in re.split(r"\n\s*\n", text))
    return tuple(
        Passage(f"in the {ordinal(number)} paragraph of the text part", part)
        for number, part in enumerate(filter(None, parts), 1)
    )


class _Reader:
    def __init__(self, stand_ins: FieldPlaceholders) -> None:
        self.passages: list[Passage] = []
        self.links: list[Link] = []
        self.pictures: list[Picture] = []
        self._stand_ins = stand_ins
        self._paragraphs = 0
        self._kind = ""
        self._said: list[str] = []
        self._link: tuple[str, list[str]] | None = None
        self._silent = False

    def take(self, words: str, tag: str, rest: str) -> None:
        """Some words, and the tag after them."""
        if words and not self._silent:
            self._say(words)
        self._silent = tag == "style"
        name = tag.removeprefix("/")
        if name in _BLOCKS:
            self.end_passage()
            self._kind = _BLOCKS.get(tag, "")
        elif name == "a":
            self._anchor(tag, rest)
        elif tag == "img":
            self._picture(rest)
        elif tag == "br":
            self._said.append(" ")

    def _say(self, words: str) -> None:
        self._said.append(words)
        if self._link:
            self._link[1].append(words)

    def _anchor(self, tag: str, rest: str) -> None:
        given = parse_attributes(rest)
        if tag == "/a" or "href" in given:
            self._end_link()
        if "href" in given:
            self._link = (given["href"].strip(), [])

    def _picture(self, rest: str) -> None:
        given = parse_attributes(rest)
        address, alt = given.get("src", "").strip(), given.get("alt")
        if alt is not None:
            alt = self._as_written(alt.strip())
        self.pictures.append(Picture(self._as_written(address), alt))
        if self._link:
            self._link[1].append(alt or "")

    def end_passage(self) -> None:
        """What was said so far stands together."""
        self._end_link()
        words, kind = self._one_line(self._said), self._kind
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
            self.links.append(Link(self._as_written(address), self._one_line(words)))
            self._link = None

    def _one_line(self, words: list[str]) -> str:
        return " ".join(self._as_written("".join(words)).split())

    def _as_written(self, text: str) -> str:
        return self._stand_ins.restore(text)

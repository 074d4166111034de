"""Read the passages, links and images of a letter's HTML.

The parser accepts any HTML without an error.
"""

import re
from dataclasses import dataclass

from delivery.mail.field_placeholders import FieldPlaceholders
from delivery.mail.merge_fields import ANY_BRACES
from delivery.mail.normalise_html import normalise, parse_attributes, split_tags

_BLOCKS = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
    **dict.fromkeys(("td", "th", "caption"), "table"),
    **dict.fromkeys(("li", "dt", "dd"), "list"),
    "p": "paragraph",
    "blockquote": "quotation",
}


@dataclass(frozen=True, slots=True)
class TextLocation:
    """A place in the letter; `number` counts paragraphs from 1."""

    kind: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text and its location."""

    location: TextLocation
    words: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link's address and its text."""

    address: str
    words: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image; `alt` is None if the image has no `alt` attribute."""

    address: str
    alt: str | None


def parse_text(text: str) -> tuple[Passage, ...]:
    """Split a plain text at blank lines into passages."""
    parts = (part.strip() for part in re.split(r"\n\s*\n", text))
    return tuple(
        Passage(TextLocation("text", number), part)
        for number, part in enumerate(filter(None, parts), 1)
    )


class ParsedLetter:
    """The passages, links and images of a letter's HTML, read in linear time."""

    def __init__(self, html: str) -> None:
        self.passages: list[Passage] = []
        self.links: list[Link] = []
        self.images: list[Image] = []
        placeholders = FieldPlaceholders(html, ANY_BRACES)
        self._restore = placeholders.restore
        self._drop_braces = placeholders.drop_braces
        self._paragraphs = 0
        self._kind = ""
        self._words: list[str] = []
        self._link: tuple[str, list[str]] | None = None
        self._in_style = False
        for words, tag, rest in split_tags(normalise(placeholders.text)):
            self._take(words, tag, rest)
        self._end_passage()

    def _take(self, words: str, tag: str, rest: str) -> None:
        """Process some text and the tag after it."""
        if words and not self._in_style:
            self._words.append(words)
            if self._link:
                self._link[1].append(words)
        self._in_style = tag == "style"
        name = tag.removeprefix("/")
        if name in _BLOCKS:
            self._end_passage()
            self._kind = _BLOCKS.get(tag, "")
        elif name == "a":
            self._anchor(tag, rest)
        elif tag == "img":
            self._image(rest)
        elif tag == "br":
            self._words.append(" ")

    def _anchor(self, tag: str, rest: str) -> None:
        attributes = parse_attributes(rest)
        if tag == "/a" or "href" in attributes:
            self._end_link()
        if "href" in attributes:
            self._link = (attributes["href"].strip(), [])

    def _image(self, rest: str) -> None:
        attributes = parse_attributes(rest)
        address, alt = attributes.get("src", "").strip(), attributes.get("alt")
        if alt is not None:
            alt = self._restore(alt.strip())
        self.images.append(Image(self._restore(address), alt))
        if self._link:
            self._link[1].append(alt or "")

    def _end_passage(self) -> None:
        """Close the current passage."""
        self._end_link()
        words, kind = self._one_line(self._words), self._kind
        self._words, self._kind = [], ""
        if not words:
            return
        if kind in ("", "paragraph"):
            self._paragraphs += 1
            location = TextLocation("paragraph", self._paragraphs)
        else:
            location = TextLocation(kind)
        self.passages.append(Passage(location, words))

    def _end_link(self) -> None:
        if self._link:
            address, words = self._link
            self.links.append(Link(self._restore(address), self._one_line(words)))
            self._link = None

    def _one_line(self, words: list[str]) -> str:
        # Drop the marks of braces that were written as entities, because such braces are text and
        # begin no merge field.
        return " ".join(self._restore(self._drop_braces("".join(words))).split())

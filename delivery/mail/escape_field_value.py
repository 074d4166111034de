"""Write a value at its place in a letter so that it stays data and never runs.

All functions take linear time. For the reasons, see
docs/decisions/0052-fields-in-addresses-and-braces-as-text.md.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from html import unescape
from urllib.parse import quote

from delivery.mail.html_markup import Kind, Markup, iter_markup
from delivery.mail.letter_addresses import addresses_of


class Place(Enum):
    """A kind of place in a letter where the value of a field may be."""

    TEXT = auto()
    """Text, also that of an attribute."""
    ADDRESS = auto()
    RECIPIENT = auto()
    """The recipient of `mailto:` or the number of `tel:`."""
    BEGINNING = auto()
    """The beginning of an address, or all of it."""
    CSS = auto()
    CSS_BEGINNING = auto()
    COMMENT = auto()
    CODE = auto()
    """The name of a tag or an attribute, or a script."""


# Text that mail programs may turn into a link. Punctuation of other scripts ends an address, even
# without a blank.
_RUN = re.compile("[^\\s<>\"'\u2000-\u206f\u3000-\u303f\uff00-\uffef]+")
_SCHEME = re.compile(r"(?<![^\W_])(?:(?i:https?|ftp|webcal)://|(?:mailto|tel|sms|xmpp|geo):)")
_OPAQUE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*+:(?!/)")
_RUNS = re.compile("(?:javascript|vbscript|data):", re.IGNORECASE)
# Mail programs drop these characters from an address, or at least from its beginning.
_LEFT_OUT = re.compile("[\x00-\x20]+")
_LONGEST_SCHEME = 100
_NOT_IN_CSS_ADDRESS = re.compile(r"[\s\"'()\\<>]")
_CSS_WORDS = re.compile(r"[\w#%.,+ -]*")


def percent_encode(value: str, safe: str = "") -> str:
    """Percent-encode a value for its place in an address."""
    return quote(value, safe, errors="replace")


def _is_code(address: str) -> bool:
    """Return whether a link runs code, or contains a document (`data:`)."""
    return bool(_RUNS.match(_LEFT_OUT.sub("", address)))


def _beginning(value: str) -> str:
    return "" if _is_code(value) else value


_WRITE: Mapping[Place, Callable[[str], str]] = {
    Place.ADDRESS: percent_encode,
    # In a mail address or a telephone number, these characters are not encoded (RFC 6068, RFC
    # 3966).
    Place.RECIPIENT: lambda value: percent_encode(value, "@+"),
    Place.BEGINNING: _beginning,
    Place.CSS_BEGINNING: lambda value: _NOT_IN_CSS_ADDRESS.sub(
        lambda sign: percent_encode(sign[0]), _beginning(value)
    ),
    Place.CSS: lambda value: value if _CSS_WORDS.fullmatch(value) else "",
    Place.COMMENT: lambda _: "",
    Place.CODE: lambda _: "",
}


def at_place(value: str, place: Place) -> str:
    """Return a value as it is written at a place, before it is escaped for HTML."""
    return value if place is Place.TEXT else _WRITE[place](value)


def fallback_at_place(fallback: str, place: Place, *, html: bool, in_attribute: bool) -> str:
    """Return an author's fallback as it is written at a place.

    The fallback in an HTML letter is HTML too.
    """
    if place in (Place.ADDRESS, Place.RECIPIENT):
        return at_place(unescape(fallback) if html else fallback, place)
    if in_attribute:
        return fallback.replace('"', "&quot;").replace("'", "&#x27;")
    return fallback


@dataclass(slots=True)
class Places:
    """The places of all fields of a text, by the fields' numbers."""

    places: list[Place]
    in_attributes: set[int] = field(default_factory=set)
    unquoted: list[tuple[int, int]] = field(default_factory=list)
    """Where values of attributes with fields are that have no quotes."""


def find_places(text: str, mark: str, are_urls: Sequence[bool], *, html: bool) -> Places:
    """Find the place of each field. In the text, `mark` replaces each field.

    `are_urls` says for each field whether its values are complete addresses. If the values are
    complete, an address begins at the field.
    """
    return _Finder(text, mark, are_urls).run(html=html)


class _Finder:
    def __init__(self, text: str, mark: str, are_urls: Sequence[bool]) -> None:
        self._text, self._mark, self._are_urls = text, re.compile(mark), are_urls
        self._numbers = {at.start(): number for number, at in enumerate(self._mark.finditer(text))}
        self._found = Places([Place.TEXT] * len(self._numbers))

    def run(self, *, html: bool) -> Places:
        self._find_in_text()
        if html:
            # A value right after `<` would name a tag. Replace such a field by a capital letter:
            # `iter_markup` leaves out plain tags in lower case.
            markup = re.sub(
                rf"(?<=<){self._mark.pattern}|(?<=</){self._mark.pattern}", "X", self._text
            )
            for piece in iter_markup(markup):
                if self._mark.search(self._text, piece.start, piece.end):
                    self._find_in(piece)
        return self._found

    def _fields(self, start: int, end: int) -> list[int]:
        """Return the numbers of the fields in a part of the text."""
        return [self._numbers[at.start()] for at in self._mark.finditer(self._text, start, end)]

    def _set(self, fields: Iterable[int], place: Place) -> None:
        for number in fields:
            # Homing's own addresses need no escaping, because no stranger wrote them.
            if place in (Place.ADDRESS, Place.RECIPIENT) or not self._are_urls[number]:
                self._found.places[number] = place

    def _find_in_text(self) -> None:
        """Outside tags, find the addresses that mail programs turn into links."""
        mark = self._mark.pattern
        field_before_query = re.compile(
            rf"[(\[]*+({mark})[^?]*+\?[^=]*+(?>(?:=(?!{mark})[^=]*+)*)={mark}"
        )
        for run in _RUN.finditer(self._text):
            if mark not in run[0]:
                continue
            begins = [
                at.start()
                for at in self._mark.finditer(self._text, *run.span())
                if self._are_urls[self._numbers[at.start()]]
            ]
            if scheme := _SCHEME.search(run[0]):
                begins.append(run.start() + scheme.start())
            if own := field_before_query.match(run[0]):
                begins.append(run.start() + own.start(1))
            if begins:
                self._find_in_address(min(begins), run.end(), Place.TEXT)

    def _find_in_address(self, start: int, end: int, beginning: Place) -> None:
        first = self._numbers.get(start)
        if first is not None:
            self._set([first], beginning)
        query = self._text.find("?", start, end)
        query = end if query < 0 else query
        is_opaque = _OPAQUE.match(self._text, start, end)
        scheme = unescape(self._text[start : min(end, start + _LONGEST_SCHEME)])
        if beginning is not Place.TEXT and _is_code(scheme):
            self._set(self._fields(start, end), Place.CODE)
            return
        self._set(self._fields(start + 1, query), Place.RECIPIENT if is_opaque else Place.ADDRESS)
        self._set(self._fields(max(query, start + 1), end), Place.ADDRESS)

    def _find_in(self, piece: Markup) -> None:
        fields = self._fields(piece.start, piece.end)
        match piece.kind, piece.name:
            case Kind.COMMENT, _:
                self._set(fields, Place.COMMENT)
            case Kind.CONTENT, "style":
                self._set_css(fields)
            case Kind.CONTENT, name:
                # Some programs read tags in the content of this element.
                if name == "script" or self._text.find("<", piece.start, piece.end) >= 0:
                    self._set(fields, Place.CODE)
            case _:
                self._find_in_tag(piece, fields)
        for start, end, is_css in addresses_of(self._text, piece):
            self._find_in_address(start, end, Place.CSS_BEGINNING if is_css else Place.BEGINNING)

    def _find_in_tag(self, tag: Markup, fields: Sequence[int]) -> None:
        in_text = {number: self._found.places[number] for number in fields}
        self._set(fields, Place.CODE)
        for name, start, end, is_quoted in tag.attributes:
            inside = self._fields(start, end)
            if not inside or name.startswith("on") or name == "srcdoc":
                continue
            self._found.in_attributes.update(inside)
            if not is_quoted:
                self._found.unquoted.append((start, end))
            for number in inside:
                self._set([number], in_text[number])
            if name == "style":
                self._set_css(inside)

    def _set_css(self, fields: Iterable[int]) -> None:
        places = self._found.places
        self._set([each for each in fields if places[each] is Place.TEXT], Place.CSS)

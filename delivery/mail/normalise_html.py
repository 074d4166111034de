"""
HTML that every parser reads alike, with every word of it. Pure, and linear in its length.

What authors paste has tags that are cut off, quotes that never end, elements that nest without
bound. A parser of HTML drops the rest of the letter over the first two and crashes or crawls over
the last. Here a tag that never ends becomes the words it is made of. Tags beyond a bound that no
letter needs are left out, and their words stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

# Letters made of tables in tables in tables come to some fifty.
MAX_DEPTH = 200
# Every block reopens the formatting that was left open before it.
MAX_FORMATTING_DEPTH = 10
# Cells begin with no formatting of what is around them, if they are in a table.
MAX_OPEN_FORMATTING = 3 * MAX_FORMATTING_DEPTH
# A parser forgets the earliest of four open tags that are alike.
_MOST_ALIKE = 3
# One for each 20 of the most characters of a letter. Gmail cuts a mail off at a tenth of that.
MAX_TAGS = 50_000
# A parser compares each attribute of a tag with all the others.
MAX_ATTRIBUTES = 50

VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
# Begun again, each ends the one before; ended by the end of what they stand in.
_CELLS = frozenset({"td", "th"})
_ROWS = frozenset({*_CELLS, "tr"})
_TABLE_PARTS = frozenset({*_ROWS, "tbody", "thead", "tfoot"})
_ENDED_BY_THE_NEXT = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _ROWS,
    "tbody": _TABLE_PARTS,
    "thead": _TABLE_PARTS,
    "tfoot": _TABLE_PARTS,
}
_REOPENED = frozenset(
    "a b big code em font i nobr s small strike strong tt u".split()  # noqa: SIM905
)
_FORMATTING = _REOPENED | {"span"}
# Formatting that begins in one of these ends with it.
_FENCES = _CELLS | {"caption", "object", "marquee", "applet"}
# Their content is not words.
_DROPPED_WHOLE = {"script", "title"}
# Their content is words to us and something else to a parser: only the words are kept.
_TAGS_DROPPED = {
    "html", "head", "body", "textarea", "noscript", "iframe", "noembed", "noframes", "xmp",
    "plaintext", "template", "select", "option", "optgroup", "frameset", "frame",
} | _DROPPED_WHOLE  # fmt: skip

_BEGINNING = re.compile(r"<(?=[!?]|/?[a-zA-Z])")
_NAME = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:_-]*+)(?=[\s/>])")
# As far as the next tag; a `<` within quotes is rarer than a quote that never ends.
_REST_WITH_LESS = re.compile(r"""(?:[^<>"']|"[^"]*+"|'[^']*+')*+>""")
_LONGEST_WITH_LESS = 400
# As a parser reads attributes: a stray quote is part of a name.
_REST_WITH_STRAY_QUOTES = re.compile(
    r"""(?:[\s/]++|[^\s/><][^\s/><=]*+"""
    r"""(?:\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'|[^\s"'<>][^\s<>]*+|(?=>))|(?!\s*+=)))*+>"""
)
_ATTRIBUTE = re.compile(
    r"""([^\s"'<>/=]++)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'<>=`][^\s"'<>`]*+))?+"""
)
_ATTRIBUTE_OR_JUNK = re.compile(
    r"""([^\s/>][^\s/>=]*+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'>][^\s>]*+))?+"""
)
_JUNK = re.compile(r"""["'<=]""")
_ATTRIBUTES = re.compile(rf"(?:\s++{_ATTRIBUTE.pattern}){{0,{MAX_ATTRIBUTES}}}+\s*+")
# A tag or a comment of HTML that is sound.
_PIECE = re.compile(
    r"""<!--.*?-->|<(/?)([a-z][^\s/>]*+)((?:[^>"']|"[^"]*+"|'[^']*+')*+)>""", re.DOTALL
)
# Without its semicolon it may as well be the next parameter of an address.
_ENTITY = re.compile(r"&[#a-zA-Z0-9]++;")
# How far up an end tag looks for its beginning.
_FARTHEST = 30


# The check sheet parses one letter several times.
@lru_cache(maxsize=1)
def normalise(html: str) -> str:
    """The fragment, with nothing in it that ends the reading of what stands around it."""
    return _Reading(html).sound()


def split_tags(html: str) -> Iterator[tuple[str, str, str]]:
    """
    Cut sound HTML into words, the name of the tag after them, and its attributes.

    The name of an end tag begins with a slash. The last words have no tag after them.
    """
    position = 0
    for found in _PIECE.finditer(html):
        words = html[position : found.start()]
        yield _unescaped(words), f"{found[1]}{found[2] or ''}", found[3] or ""
        position = found.end()
    yield _unescaped(html[position:]), "", ""


def _unescaped(words: str) -> str:
    if "&" not in words:
        return words
    # Hostile letters have a million of these two, and `unescape` takes a call of Python for each.
    parts = words.replace("&lt;", "<").split("&amp;")
    return "&".join(unescape(part) if "&" in part else part for part in parts)


def parse_attributes(rest: str) -> dict[str, str]:
    """The attributes of a tag by name, empty without a value; the first of two counts."""
    return {
        name.lower(): _ENTITY.sub(
            lambda one: unescape(one[0]), value[1:-1] if value.startswith(tuple(QUOTES)) else value
        )
        for name, value in reversed(_ATTRIBUTE.findall(rest))
    }


@dataclass(slots=True, eq=False)
class _Element:
    """An open element, its attributes, and whether its tag was kept."""

    name: str
    rest: str
    kept: bool


class _Reading:
    def __init__(self, html: str) -> None:
        self._html = html
        self._made: list[str] = []
        self._open: list[_Element] = []
        self._kept = 0
        # The open formatting that was kept, for each open fence and outside all of them.
        self._formatting: list[list[_Element]] = [[]]
        self._formats = 0
        self._tags = 0
        self._never: set[str] = set()

    def sound(self) -> str:
        html, position = self._html, 0
        while begin := _BEGINNING.search(html, position):
            self._made.append(html[position : begin.start()].replace("<", "&lt;"))
            position = self._markup(begin.start())
        self._made.append(html[position:].replace("<", "&lt;"))
        return "".join(self._made)

    def _markup(self, start: int) -> int:
        """Take what begins with the `<` at `start`; where it ends."""
        html = self._html
        if html.startswith(("<!", "<?"), start):
            if html.startswith("<!--", start):
                return self._comment(start)
            end = self._find(">", start)
            if end < 0 or html.find("<", start + 1, end) >= 0:
                return self._word(start)
            # Outlook's own, in the one way of writing it that other parsers leave alone.
            condition = html[start + 2 : end]
            if condition.startswith("[if "):
                self._made.append(f"<!--{condition}><!-->")
            elif condition == "[endif]":
                self._made.append("<!--<![endif]-->")
            return end + 1
        name = _NAME.match(html, start)
        rest = name and (
            _REST_WITH_STRAY_QUOTES.match(html, name.end())
            or _REST_WITH_LESS.match(html, name.end(), name.end() + _LONGEST_WITH_LESS)
        )
        if not name or not rest:
            return self._word(start)
        return self._tag(name[2].lower(), html[name.end() : rest.end() - 1], rest.end(), name[1])

    def _word(self, start: int) -> int:
        self._made.append("&lt;")
        return start + 1

    def _find(self, what: str, start: int) -> int:
        """Where `what` stands next. Looked for in vain once, it is not looked for again."""
        if what in self._never:
            return -1
        found = self._html.find(what, start)
        if found < 0:
            self._never.add(what)
        return found

    def _comment(self, start: int) -> int:
        end = self._find("-->", start + 4)
        if end < 0:
            return self._word(start)
        inside = self._html[start + 4 : end]
        # Another end of a comment, to some parsers.
        if not inside.startswith((">", "->")) and "--!>" not in inside:
            self._made.append(self._html[start : end + 3])
        return end + 3

    def _tag(self, name: str, rest: str, end: int, ends: str) -> int:
        if name == "style" or name in _DROPPED_WHOLE:
            return self._not_words(name, rest, end, ends)
        # `</p>` without `<p>` makes a paragraph too.
        self._tags += not ends or name == "p"
        if name in _TAGS_DROPPED:
            self._made.append(" ")
        elif ends:
            self._end(name)
        elif (name in VOID or name == "p") and self._tags > MAX_TAGS:
            self._made.append(" ")
        elif name in VOID or name == "p":
            self._made.append(f"<{name}{_sound_attributes(rest)}>")
        else:
            self._begin(name, rest)
        return end

    def _not_words(self, name: str, rest: str, end: int, ends: str) -> int:
        closing = -1 if ends else self._find_end_of(name, end)
        if closing < 0:
            return end
        inside = self._html[end:closing]
        if name == "style" and "<" not in inside:
            self._made.append(f"<style{_sound_attributes(rest)}>{inside}</style>")
        after = self._find(">", closing)
        return after + 1 if after >= 0 else len(self._html)

    def _find_end_of(self, name: str, start: int) -> int:
        if name in self._never:
            return -1
        found = re.compile(rf"</{name}\b", re.IGNORECASE).search(self._html, start)
        if found:
            return found.start()
        self._never.add(name)
        return -1

    def _begin(self, name: str, rest: str) -> None:
        self._end_those_before(name)
        kept = self._tags <= MAX_TAGS and self._has_room_for(name, rest)
        if kept:
            self._made.append(f"<{name}{_sound_attributes(rest)}>")
        if rest.endswith("/") and any(one.name in ("svg", "math") for one in self._open[-5:]):
            self._made.append(f"</{name}>" if kept else "")
            return
        element = _Element(name, rest, kept)
        self._open.append(element)
        self._kept += kept
        if kept and name in _REOPENED:
            self._formatting[-1].append(element)
        elif kept and name in _FENCES:
            self._formatting.append([])

    def _end_those_before(self, name: str) -> None:
        ended, farthest = _ENDED_BY_THE_NEXT.get(name), 0
        if not ended:
            return
        for back in range(1, min(len(self._open), _FARTHEST) + 1):
            found = self._open[-back].name
            if found in ended:
                farthest = back
            elif found not in _FORMATTING:
                break
        if farthest:
            self._close(farthest)

    def _has_room_for(self, name: str, rest: str) -> bool:
        """Whether the tag is kept. A link always is; other formatting makes room for it."""
        here = self._formatting[-1]
        if name == "a":
            # A parser ends the open link too.
            self._take_off([one for one in here if one.name == "a"])
            return True
        if self._kept >= MAX_DEPTH or name not in _REOPENED:
            return self._kept < MAX_DEPTH
        alike = [one for one in here if (one.name, one.rest) == (name, rest)]
        others = [one for one in here if one.name != "a"]
        if len(alike) >= _MOST_ALIKE:
            here.remove(alike[0])
        elif len(others) >= MAX_FORMATTING_DEPTH or self._is_full():
            self._take_off(others[-1:])
        return not self._is_full()

    def _is_full(self) -> bool:
        return sum(map(len, self._formatting)) >= MAX_OPEN_FORMATTING

    def _take_off(self, formatting: Sequence[_Element]) -> None:
        """End open formatting early. Its own end tag is then left out."""
        for one in formatting:
            self._made.append(f"</{one.name}>")
            self._formatting[-1].remove(one)
            one.kept = False
            self._kept -= 1

    def _end(self, name: str) -> None:
        """
        End the nearest element of this name, and with it those that need no end of their own.

        An end that ends nothing is left out.
        """
        if name == "p":
            self._made.append("</p>" if self._tags <= MAX_TAGS else " ")
            return
        for back in range(1, min(len(self._open), _FARTHEST) + 1):
            found = self._open[-back]
            if found.name == name:
                self._close(back)
                if found.kept:
                    self._made.append(f"</{name}>")
                return
            if found.name not in _FORMATTING and found.name not in _ENDED_BY_THE_NEXT:
                return

    def _close(self, back: int) -> None:
        """
        Close the last `back` elements. Formatting outlives the block that it began in.

        Formatting in a cell ends with the cell.
        """
        gone = self._open[-back:]
        del self._open[-back:]
        lasting: list[_Element] = []
        for one in reversed(gone):
            self._kept -= one.kept
            if one.kept and one.name in _FENCES:
                self._made += [f"</{left.name}>" for left in reversed(self._formatting.pop())]
                lasting = []
            elif one in self._formatting[-1]:
                lasting.append(one)
        if lasting and lasting[-1] is gone[0]:
            self._formatting[-1].remove(lasting.pop())
        self._open += reversed(lasting)
        self._kept += len(lasting)


def _sound_attributes(rest: str) -> str:
    """The attributes as they were written where that is sound; otherwise what can be read."""
    for written in (rest, rest.removesuffix("/")):
        if _ATTRIBUTES.fullmatch(written):
            return written.rstrip()
    found = _ATTRIBUTE_OR_JUNK.findall(rest)[:MAX_ATTRIBUTES]
    return "".join(
        f" {name}={_in_quotes(value)}" if value else f" {name}"
        for name, value in found
        if not _JUNK.search(name)
    )


def _in_quotes(value: str) -> str:
    if value[0] in QUOTES:
        return value
    return '"{}"'.format(value.replace('"', "&quot;"))


QUOTES = "\"'"

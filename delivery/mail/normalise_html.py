"""Normalise HTML in linear time, so that every parser reads it in the same way.

An unfinished tag becomes text. Tags nested deeper than `MAX_DEPTH` are left out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

# Letters with nested tables reach a depth of about 50.
MAX_DEPTH = 200
# Each block reopens the formatting that was open before the block.
MAX_FORMATTING_DEPTH = 10
# A table cell does not inherit the formatting around its table.
MAX_OPEN_FORMATTING = 3 * MAX_FORMATTING_DEPTH
# A parser drops the earliest of four equal open tags.
_MAX_EQUAL = 3
# This allows one tag for each 20 characters of the longest letter that Homing accepts.
MAX_TAGS = 50_000
# A parser compares each attribute of a tag with all others.
MAX_ATTRIBUTES = 50

VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
# Elements that implicitly end the previous element, and end with their parent.
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
# Formatting that begins in one of these elements ends when the element ends.
_FENCES = _CELLS | {"caption", "object", "marquee", "applet"}
# Elements whose text is shown as written.
CODE = frozenset({"code", "kbd", "pre", "samp"})
_ANY_CODE = re.compile(f"<(?:{'|'.join(sorted(CODE))})", re.IGNORECASE)
_DROPPED_WHOLE = {"script", "title"}
# Elements whose tags are dropped, because parsers read what is in them in different ways. Only
# their text is kept.
_TAGS_DROPPED = {
    "html", "head", "body", "textarea", "noscript", "iframe", "noembed", "noframes", "xmp",
    "plaintext", "template", "select", "option", "optgroup", "frameset", "frame",
} | _DROPPED_WHOLE  # fmt: skip

_BEGINNING = re.compile(r"<(?=[!?]|/?[a-zA-Z])")
_NAME = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:_-]*+)(?=[\s/>])")
# A tag is first read only up to the next `<`, because a `<` within quotes is rarer than an
# unfinished quote.
_REST_WITH_LESS_THAN = re.compile(r"""(?>(?:[^<>"']|"[^"]*+"|'[^']*+')*)>""")
_MAX_WITH_LESS_THAN = 400
# Attributes as a parser reads them: a stray quote is part of a name.
_REST_WITH_STRAY_QUOTES = re.compile(
    r"""(?>(?:[\s/]++|[^\s/><][^\s/><=]*+"""
    r"""(?:\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'|[^\s"'<>][^\s<>]*+|(?=>))|(?!\s*+=)))*)>"""
)
_ATTRIBUTE = re.compile(
    r"""([^\s"'<>/=]++)(?>(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'<>=`][^\s"'<>`]*+))?)"""
)
_ATTRIBUTE_OR_JUNK = re.compile(
    r"""([^\s/>][^\s/>=]*+)(?>(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"'>][^\s>]*+))?)"""
)
_JUNK = re.compile(r"""["'<=]""")
_ATTRIBUTES = re.compile(rf"(?>(?:\s++{_ATTRIBUTE.pattern}){{0,{MAX_ATTRIBUTES}}})\s*+")
_MARKUP = re.compile(
    r"""<!--.*?-->|<(/?)([a-z][^\s/>]*+)((?>(?:[^>"']|"[^"]*+"|'[^']*+')*))>""", re.DOTALL
)
# Without a semicolon, a name after `&` may be the next parameter of a URL.
_ENTITY = re.compile(r"&[#a-zA-Z0-9]++;")
_MAX_LOOK_BACK = 30


# The check sheet parses one letter several times.
@lru_cache(maxsize=1)
def normalise(html: str) -> str:
    """Normalise a fragment, so that it cannot affect the HTML around it."""
    return _Normaliser(html).run()


def split_tags(html: str) -> Iterator[tuple[str, str, str]]:
    """Split normalised HTML into texts, each with the tag that follows it.

    A tag has a name (`/name` at an end) and attributes.
    """
    position = 0
    for found in _MARKUP.finditer(html):
        words = html[position : found.start()]
        yield _unescaped(words), f"{found[1]}{found[2] or ''}", found[3] or ""
        position = found.end()
    yield _unescaped(html[position:]), "", ""


def _unescaped(words: str) -> str:
    if "&" not in words:
        return words
    # A hostile letter can contain a million of these two entities, and `unescape` calls Python code
    # for each.
    parts = words.replace("&lt;", "<").split("&amp;")
    return "&".join(unescape(part) if "&" in part else part for part in parts)


def iter_tags(html: str) -> Iterator[tuple[str, int, int]]:
    """Yield each tag of any HTML: its name, and the start and end of its attributes.

    End tags have the name `/name`. Tags in comments with a condition for Outlook are yielded. Tags
    in all other comments, in styles and in scripts are left out.
    """
    position, missing = 0, set[str]()
    while begin := _BEGINNING.search(html, position):
        start = position = begin.start()
        is_comment = html.startswith("<!--", start) and not html.startswith("<!--[if", start)
        if html.startswith(("<!", "<?"), start):
            ends = "-->" if is_comment else ">"
            end = -1 if ends in missing else html.find(ends, start + 4 * is_comment)
            missing |= {ends} if end < 0 else set()
            position = start + 1 if end < 0 else end + len(ends)
        elif tag := _match_tag(html, start):
            ends, name, rest, position = tag
            yield f"{ends}{name}", rest, position - 1
            if name in ("style", "script") and not ends and name not in missing:
                closing = re.compile(rf"</{name}\b", re.IGNORECASE).search(html, position)
                position = closing.start() if closing else position
                missing |= set() if closing else {name}
        else:
            position = start + 1


def texts_in_code(html: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each piece of text inside code or `<pre>`.

    A piece is the text between two tags.
    """
    if not _ANY_CODE.search(html):
        return
    open_codes: Counter[str] = Counter()
    begin = 0
    for name, rest, end in iter_tags(html):
        if open_codes.total():
            yield begin, rest - len(name) - 1
        begin, code = end + 1, name.removeprefix("/")
        if code in CODE:
            open_codes[code] = max(0, open_codes[code] + (-1 if name != code else 1))
    if open_codes.total():
        yield begin, len(html)


def parse_attributes(rest: str) -> dict[str, str]:
    """Parse a tag's attributes by name.

    If a name is repeated, its first attribute counts. A missing value is ''.
    """
    return {
        name.lower(): _ENTITY.sub(
            lambda one: unescape(one[0]), value[1:-1] if value.startswith(tuple(QUOTES)) else value
        )
        for name, value in reversed(_ATTRIBUTE.findall(rest))
    }


def _match_tag(html: str, start: int) -> tuple[str, str, int, int] | None:
    """Match the tag at `start`.

    Returns `/` for an end tag (otherwise ''), the name, and where the attributes begin and the tag
    ends.
    """
    name = _NAME.match(html, start)
    rest = name and (
        _REST_WITH_STRAY_QUOTES.match(html, name.end())
        or _REST_WITH_LESS_THAN.match(html, name.end(), name.end() + _MAX_WITH_LESS_THAN)
    )
    return (name[1], name[2].lower(), name.end(), rest.end()) if name and rest else None


@dataclass(slots=True, eq=False)
class _Element:
    name: str
    rest: str
    kept: bool


class _Normaliser:
    def __init__(self, html: str) -> None:
        self._html = html
        self._out: list[str] = []
        self._open: list[_Element] = []
        self._kept = 0
        # Lists of the open formatting elements that are kept. The first list is for formatting
        # outside the elements of `_FENCES`. Each open element of `_FENCES` adds a list.
        self._formatting: list[list[_Element]] = [[]]
        self._formats = 0
        self._tags = 0
        self._not_found: set[str] = set()

    def run(self) -> str:
        html, position = self._html, 0
        while begin := _BEGINNING.search(html, position):
            self._out.append(html[position : begin.start()].replace("<", "&lt;"))
            position = self._markup(begin.start())
        self._out.append(html[position:].replace("<", "&lt;"))
        return "".join(self._out)

    def _markup(self, start: int) -> int:
        """Write the markup that begins with the `<` at `start`; return where it ends."""
        html = self._html
        if html.startswith(("<!", "<?"), start):
            if html.startswith("<!--", start):
                return self._comment(start)
            end = self._find(">", start)
            if end < 0 or html.find("<", start + 1, end) >= 0:
                return self._as_text(start)
            # Outlook's conditional comments, in the only spelling that other parsers ignore.
            condition = html[start + 2 : end]
            if condition.startswith("[if "):
                self._out.append(f"<!--{condition}><!-->")
            elif condition == "[endif]":
                self._out.append("<!--<![endif]-->")
            return end + 1
        tag = _match_tag(html, start)
        if not tag:
            return self._as_text(start)
        ends, name, rest, end = tag
        return self._tag(name, html[rest : end - 1], end, ends)

    def _as_text(self, start: int) -> int:
        self._out.append("&lt;")
        return start + 1

    def _find(self, what: str, start: int) -> int:
        """Find the next `what`. After one failure, `what` is not searched for again."""
        if what in self._not_found:
            return -1
        found = self._html.find(what, start)
        if found < 0:
            self._not_found.add(what)
        return found

    def _comment(self, start: int) -> int:
        end = self._find("-->", start + 4)
        if end < 0:
            return self._as_text(start)
        inside = self._html[start + 4 : end]
        # Some parsers end a comment at these characters, so such a comment is dropped.
        if not inside.startswith((">", "->")) and "--!>" not in inside:
            self._out.append(self._html[start : end + 3])
        return end + 3

    def _tag(self, name: str, rest: str, end: int, ends: str) -> int:
        if name == "style" or name in _DROPPED_WHOLE:
            return self._skip_content(name, rest, end, ends)
        # `</p>` without `<p>` also makes a paragraph.
        self._tags += not ends or name == "p"
        if name in _TAGS_DROPPED:
            self._out.append(" ")
        elif ends:
            self._end(name)
        elif (name in VOID or name == "p") and self._tags > MAX_TAGS:
            self._out.append(" ")
        elif name in VOID or name == "p":
            self._out.append(f"<{name}{_normalise_attributes(rest)}>")
        else:
            self._begin(name, rest)
        return end

    def _skip_content(self, name: str, rest: str, end: int, ends: str) -> int:
        closing = -1 if ends else self._find_end_of(name, end)
        if closing < 0:
            return end
        inside = self._html[end:closing]
        if name == "style" and "<" not in inside:
            self._out.append(f"<style{_normalise_attributes(rest)}>{inside}</style>")
        after = self._find(">", closing)
        return after + 1 if after >= 0 else len(self._html)

    def _find_end_of(self, name: str, start: int) -> int:
        if name in self._not_found:
            return -1
        found = re.compile(rf"</{name}\b", re.IGNORECASE).search(self._html, start)
        if found:
            return found.start()
        self._not_found.add(name)
        return -1

    def _begin(self, name: str, rest: str) -> None:
        self._close_implied(name)
        kept = self._tags <= MAX_TAGS and self._make_room_for(name, rest)
        if kept:
            self._out.append(f"<{name}{_normalise_attributes(rest)}>")
        if rest.endswith("/") and any(one.name in ("svg", "math") for one in self._open[-5:]):
            self._out.append(f"</{name}>" if kept else "")
            return
        element = _Element(name, rest, kept)
        self._open.append(element)
        self._kept += kept
        if kept and name in _REOPENED:
            self._formatting[-1].append(element)
        elif kept and name in _FENCES:
            self._formatting.append([])

    def _close_implied(self, name: str) -> None:
        ended, farthest = _ENDED_BY_THE_NEXT.get(name), 0
        if not ended:
            return
        for back in range(1, min(len(self._open), _MAX_LOOK_BACK) + 1):
            found = self._open[-back].name
            if found in ended:
                farthest = back
            elif found not in _FORMATTING:
                break
        if farthest:
            self._close(farthest)

    def _make_room_for(self, name: str, rest: str) -> bool:
        """Return whether the tag is kept.

        A link is always kept: other formatting ends early for it.
        """
        here = self._formatting[-1]
        if name == "a":
            # A parser also ends an open link when another link begins.
            self._end_formatting([one for one in here if one.name == "a"])
            return True
        if self._kept >= MAX_DEPTH or name not in _REOPENED:
            return self._kept < MAX_DEPTH
        alike = [one for one in here if (one.name, one.rest) == (name, rest)]
        others = [one for one in here if one.name != "a"]
        if len(alike) >= _MAX_EQUAL:
            here.remove(alike[0])
        elif len(others) >= MAX_FORMATTING_DEPTH or self._is_full():
            self._end_formatting(others[-1:])
        return not self._is_full()

    def _is_full(self) -> bool:
        return sum(map(len, self._formatting)) >= MAX_OPEN_FORMATTING

    def _end_formatting(self, formatting: Sequence[_Element]) -> None:
        """End open formatting early; its own end tag is left out."""
        for one in formatting:
            self._out.append(f"</{one.name}>")
            self._formatting[-1].remove(one)
            one.kept = False
            self._kept -= 1

    def _end(self, name: str) -> None:
        """End the nearest element of this name, and elements in it that need no end tag."""
        if name == "p":
            self._out.append("</p>" if self._tags <= MAX_TAGS else " ")
            return
        for back in range(1, min(len(self._open), _MAX_LOOK_BACK) + 1):
            found = self._open[-back]
            if found.name == name:
                self._close(back)
                if found.kept:
                    self._out.append(f"</{name}>")
                return
            if found.name not in _FORMATTING and found.name not in _ENDED_BY_THE_NEXT:
                return

    def _close(self, back: int) -> None:
        """Close the last `back` elements.

        Formatting stays open after the end of its block, but not after the end of its table cell.
        """
        gone = self._open[-back:]
        del self._open[-back:]
        lasting: list[_Element] = []
        for one in reversed(gone):
            self._kept -= one.kept
            if one.kept and one.name in _FENCES:
                self._out += [f"</{left.name}>" for left in reversed(self._formatting.pop())]
                lasting = []
            elif one in self._formatting[-1]:
                lasting.append(one)
        if lasting and lasting[-1] is gone[0]:
            self._formatting[-1].remove(lasting.pop())
        self._open += reversed(lasting)
        self._kept += len(lasting)


def _normalise_attributes(rest: str) -> str:
    """Keep a tag's attributes if all are well-formed, else write the readable ones."""
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

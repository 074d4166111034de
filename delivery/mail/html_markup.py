"""Read the markup of any HTML as a browser does (HTML, 13.2.5).

The functions take linear time. A complete document is sent as written, so its markup may be
malformed. The normaliser (normalise_html.py) reads fragments with more tolerance. The normaliser
writes markup that both modules read alike.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """The kind of a piece of markup."""

    TAG = auto()
    COMMENT = auto()
    CONTENT = auto()
    """The content of an element that contains no tags. `name` is the element's."""


class Attribute(NamedTuple):
    """An attribute: its name, and the start and end of its value without quotes."""

    name: str
    start: int
    end: int
    is_quoted: bool


class Markup(NamedTuple):
    """A piece of markup and its place. The name of an end tag begins with a slash."""

    kind: Kind
    name: str
    start: int
    end: int
    attributes: tuple[Attribute, ...] = ()


_WITH_CONTENT = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
# A plain tag is left out. Most tags are plain, and a plain tag contains no address and no field.
_PLAIN = rf"/?(?!(?:{'|'.join(_WITH_CONTENT)})>)[a-z][a-z0-9]*+>"
_BEGINNING = re.compile(rf"<(?!{_PLAIN})(?:!--|/?[a-zA-Z]|[!?]|/(?!>))")
_NAME = re.compile(r"</?([^ \t\n\f\r/>]*+)")
_ATTRIBUTE = re.compile(
    r"[ \t\n\f\r/]*+([^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)"
    r"""(?>(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:"([^"]*+)"?|'([^']*+)'?|([^ \t\n\f\r>]*+)))?)"""
)
_END = re.compile(r"[ \t\n\f\r/]*+>")
_END_OF_COMMENT = re.compile(r"--!?>")
_EMPTY_COMMENT = re.compile(r"<!---?>")
_CONDITION = re.compile(r"<!--\[if [^]<>]*+\]>")
_ENDS_OF_CONTENT = {
    name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE) for name in _WITH_CONTENT
}


def iter_markup(html: str) -> Iterator[Markup]:
    """Yield each piece of markup, in the order of the text.

    Markup without an end reaches to the end of the text. Tags in lower case without attributes,
    such as `<p>`, are left out.

    Comments with a condition are read as Outlook reads them: the tags in them are yielded.
    """
    position, stop = 0, len(html)
    after_condition = 0
    while True:
        found = _BEGINNING.search(html, position, stop)
        if not found and not after_condition:
            return
        if not found:
            position, stop, after_condition = after_condition, len(html), 0
            continue
        start = found.start()
        if found[0] == "<!--":
            end = _EMPTY_COMMENT.match(html, start, stop)
            end = end or _END_OF_COMMENT.search(html, start + 4, stop)
            condition = not after_condition and _CONDITION.match(html, start, stop)
            if end and condition:
                position, stop, after_condition = condition.end(), end.start(), end.end()
            else:
                position = end.end() if end else stop
            yield Markup(Kind.COMMENT, "", start, position)
        elif not found[0][-1].isalpha():
            end_of_it = html.find(">", start, stop)
            position = end_of_it + 1 or stop
            yield Markup(Kind.COMMENT, "", start, position)
        else:
            tag = _match_tag(html, start, stop)
            position = tag.end
            yield tag
            if ends := _ENDS_OF_CONTENT.get(tag.name):
                closing = ends.search(html, position, stop)
                content = Markup(
                    Kind.CONTENT, tag.name, position, closing.start() if closing else stop
                )
                position = content.end
                yield content


def _match_tag(html: str, start: int, stop: int) -> Markup:
    name = _NAME.match(html, start, stop)
    position, attributes = name.end() if name else stop, list[Attribute]()
    while found := _ATTRIBUTE.match(html, position, stop):
        position = found.end()
        if found.lastindex and found.lastindex > 1:
            quoted = found.lastindex < 4
            attributes.append(Attribute(found[1].lower(), *found.span(found.lastindex), quoted))
    end = _END.match(html, position, stop)
    slash = "/" if html.startswith("</", start) else ""
    return Markup(
        Kind.TAG,
        slash + (name[1].lower() if name else ""),
        start,
        end.end() if end else stop,
        tuple(attributes),
    )

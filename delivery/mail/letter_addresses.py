"""Find the addresses of links and images in a letter.

The functions take linear time.
"""

import re
from collections.abc import Iterator

from delivery.mail.html_markup import Kind, Markup, iter_markup

_ATTRIBUTES = frozenset(
    "action background cite data formaction href longdesc poster src xlink:href".split()  # noqa: SIM905
)
_SETS = frozenset({"imagesrcset", "srcset"})
# Matches one address of a `srcset`, and the comma or description after the address.
_IN_SET = re.compile(r"[\s,]*+([^\s,](?>(?:[^\s,]|,(?=\S))*))[^,]*+")
_QUOTE = r"(?:[\"']|&(?:quot|apos|#0*+3[49]|#[xX]0*+2[27]);)"
# Comments and strings of CSS contain no addresses.
_IN_CSS = re.compile(
    r"/\*(?>(?:[^*]|\*(?!/))*)(?:\*/)?"
    rf"|(?i:url\(\s*+(?>{_QUOTE}?)|@import\s++{_QUOTE})\s*+"
    rf"((?>(?:[^\s\"'()\\<>&]|(?!{_QUOTE})&)+))(?>{_QUOTE}?)"
    r"|\"[^\"\n]*+\"?|'[^'\n]*+'?"
)
# The character before an address that begins with a slash. Most letters have no address that begins
# with a slash.
_MAY_BE_ROOTED = re.compile(r"""[\s"',(;]/(?!>)|=\s*+/""")


def missing_before(address: str, site_url: str) -> str:
    """Return the missing start of an address in a mail: this site, a scheme, or ''."""
    if address.startswith("//"):
        return "https:"
    return site_url if address.startswith("/") else ""


def complete_rooted(html: str, site_url: str) -> str:
    """Complete the addresses that begin with a slash, in tags and styles of any HTML."""
    if not _MAY_BE_ROOTED.search(html):
        return html
    written, end = list[str](), 0
    for piece in iter_markup(html):
        for start, stop, _ in addresses_of(html, piece):
            if missing := missing_before(html[start : min(stop, start + 2)], site_url):
                written += (html[end:start], missing)
                end = start
    return "".join((*written, html[end:]))


def addresses_of(html: str, piece: Markup) -> Iterator[tuple[int, int, bool]]:
    """Yield each address in a tag or style: start, end, and whether it is in CSS."""
    if piece.kind is Kind.CONTENT and piece.name == "style":
        yield from _of_css(html, piece.start, piece.end)
    for attribute, start, end, _ in piece.attributes:
        if piece.name.startswith("/"):
            continue
        if attribute in _ATTRIBUTES:
            yield end - len(html[start:end].lstrip()), end, False
        elif attribute in _SETS:
            for one in _IN_SET.finditer(html, start, end):
                yield *one.span(1), False
        elif attribute == "style":
            yield from _of_css(html, start, end)


def _of_css(html: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    for found in _IN_CSS.finditer(html, start, end):
        if found[1]:
            yield *found.span(1), True

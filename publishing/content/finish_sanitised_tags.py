"""Rewrite anchors, images and addresses of sanitised HTML, in linear time.

The ids in a letter get a prefix, so that they differ from the ids of our pages and of other
letters.
"""

import hashlib
import re
from collections.abc import Callable
from html import escape, unescape
from urllib.parse import unquote, urljoin, urlsplit

# The tags of these elements are removed. If these tags stayed, screen readers would list a
# letter's header or footer as a part of our page.
SECTIONS = frozenset({"article", "aside", "center", "footer", "header", "main", "nav", "section"})
LONGEST_ID = 100

# The sanitiser writes every attribute in double quotes, and escapes quotes in values.
TAG = re.compile(r'<(/?)([a-z][a-z0-9]*+)((?>(?: [a-z]++="[^"]*+")*))>')
ATTRIBUTE = re.compile(r' ([a-z]++)="([^"]*+)"')
_KEPT_ID = re.compile(r"fn(?:ref)?-[0-9a-f]{8}-[0-9]+(?::[0-9]+)?|at-[0-9a-f]{8}-[\w.:%-]{1,120}")
_UNUSUAL = re.compile(r"[^\w.:%-]+")
_TO_THE_TOP = ("", "top")


def finish_tags(html: str, letter: str = "") -> str:
    """Add a prefix to each id, and point the links within the letter at the new ids.

    `letter` is the letter's name, which stays the same in a correction, so the ids stay the same
    too. A link to an unknown id becomes plain words. An image without an address is replaced by its
    alt text.
    """
    key = (letter or html).encode("utf-8", "surrogatepass")
    ids = _new_ids(html, hashlib.sha256(key).hexdigest()[:8])
    written: set[str] = set()
    open_links: list[str] = []

    def rewrite(found: re.Match[str]) -> str:
        tag: str = found[2]
        attributes: dict[str, str] = dict(ATTRIBUTE.findall(found[3]))
        if found[1]:
            tag = open_links.pop() if tag == "a" and open_links else tag
            return "" if tag in SECTIONS else f"</{tag}>"
        if tag == "img" and not attributes.get("src", "").strip():
            # Escape the alt text again, because some sanitisers leave `<` in attributes.
            return escape(unescape(attributes.get("alt", "")), quote=False)
        named = attributes.pop("id", "") or attributes.get("name", "")
        attributes.pop("name", None)
        new = ids.get(unescape(named), "")
        if new and new not in written:
            written.add(new)
            attributes["id"] = new
        if tag in SECTIONS:
            return f'<span id="{attributes["id"]}"></span>' if "id" in attributes else ""
        if tag == "a":
            _retarget(attributes, ids, letter)
            if "href" not in attributes:
                tag = "span"
                attributes.pop("rel", None)
            open_links.append(tag)
        rest = "".join(f' {name}="{value}"' for name, value in attributes.items())
        return f"<{tag}{rest}>"

    return TAG.sub(rewrite, html)


def align_by_class(html: str) -> str:
    """Replace `align`, which images in mails need, by a class of our pages."""
    return _rewrite(html, lambda name, value: ("class" if name == "align" else name, value))


def absolute_addresses(html: str, page: str) -> str:
    """Return the HTML with absolute addresses, resolved from the letter's page."""

    def absolute(name: str, value: str) -> tuple[str, str]:
        address = unescape(value)
        try:
            if name in ("href", "src") and not urlsplit(address).scheme:
                value = escape(urljoin(page, address))
        except ValueError:
            pass  # An invalid address works nowhere, so it stays as it is.
        return name, value

    return _rewrite(html, absolute)


def _new_ids(html: str, digest: str) -> dict[str, str]:
    """Map each id, and each name of an anchor, to its new id."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for found in TAG.finditer(html):
        attributes = dict(ATTRIBUTE.findall(found[3]))
        names = [unescape(attributes.get(name, "")) for name in ("id", "name")]
        old = [name for name in names if name and name not in ids]
        if not old:
            continue
        new = next((ids[name] for name in names if name in ids), old[0])
        if not _KEPT_ID.fullmatch(new):
            new = f"at-{digest}-{_UNUSUAL.sub('-', new[:LONGEST_ID])}"
            new = f"{new}-{len(taken)}" if new in taken else new
        taken.add(new)
        ids |= dict.fromkeys(old, new)
    return ids


def _retarget(attributes: dict[str, str], ids: dict[str, str], letter: str) -> None:
    """Point a link within the letter at its target's new id, or remove its `href`."""
    address = unescape(attributes.get("href", ""))
    fragment = address.removeprefix(letter)
    if not fragment.startswith("#"):
        return
    new = ids.get(fragment[1:]) or ids.get(unquote(fragment[1:]))
    if new:
        attributes["href"] = f"#{new}"
    elif address == fragment and fragment[1:] not in _TO_THE_TOP:
        del attributes["href"]


def _rewrite(html: str, change: Callable[[str, str], tuple[str, str]]) -> str:
    def attribute(found: re.Match[str]) -> str:
        name, value = change(found[1], found[2])
        return f' {name}="{value}"'

    return TAG.sub(lambda tag: f"<{tag[1]}{tag[2]}{ATTRIBUTE.sub(attribute, tag[3])}>", html)

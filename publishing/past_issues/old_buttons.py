"""Keep the buttons of the author, and remove those of the old product. Pure."""

from collections.abc import Sequence
from html import escape
from urllib.parse import parse_qs, urlsplit

from delivery.mail.normalise_html import parse_attributes
from publishing.past_issues.past_issue import Product

# Classes of links that are buttons, and of the elements around them.
_LINKS = {
    Product.GHOST: frozenset({
        "kg-btn", "kg-cta-button", "kg-product-card-button", "kg-header-card-button",
    }),
}  # fmt: skip
_AROUND = {Product.SUBSTACK: frozenset({"button-wrapper", "captioned-button-wrap"})}
_CAPTIONED = "captioned-button-wrap"
# A bound on the tags of a button and its caption. Real ones have about 12.
_MOST_TAGS = 30
# Paths and queries of the products' own pages, on the address of any newsletter.
_OLD_PATHS = frozenset({"subscribe", "leaderboard", "survey", "account"})
_OLD_ENDS = ("/comments",)
_OLD_QUERIES = {"action": "share", "utm_content": "share", "gift": "true"}
_OLD_FRAGMENTS = ("/portal", "/share", "/search")

Part = tuple[str, str, str]  # as `split_tags` returns it


def replace_button(
    product: Product, classes: frozenset[str], parts: Sequence[Part], at: int
) -> str | None:
    """Return what replaces the button that begins at this tag.

    It is empty for a button of the product, and None if the element stays.
    """
    is_link = parts[at][1] == "a"
    if not classes & (_LINKS if is_link else _AROUND).get(product, frozenset()):
        return None
    button = _own_button(parts, at, parts[at][1])
    if button and _CAPTIONED in classes:
        return None  # The caption stays, and the button within it is replaced.
    return button


def link_words(parts: Sequence[Part], at: int) -> str:
    """Return the words of the link that begins at this tag, as HTML on one line."""
    words = []
    for text, tag, _rest in parts[at + 1 : at + 1 + _MOST_TAGS]:
        words.append(text)
        if tag in ("a", "/a"):
            break
    return escape(" ".join("".join(words).split()), quote=False)


def _own_button(parts: Sequence[Part], at: int, outer: str) -> str:
    depth = 0
    for here, (_text, tag, rest) in enumerate(parts[at : at + _MOST_TAGS], at):
        if tag == "a":
            address, words = parse_attributes(rest).get("href", "").strip(), link_words(parts, here)
            if words and _is_own(address):
                return f'<p class="button"><a href="{escape(address)}">{words}</a></p>'
        depth += (tag == outer) - (tag == f"/{outer}")
        if not depth:
            break
    return ""


def _is_own(address: str) -> bool:
    """Whether a button leads to a target of the author."""
    try:
        parts = urlsplit(address)
        query = parse_qs(parts.query, max_num_fields=50)
    except ValueError:
        return False
    path = parts.path.strip("/")
    return not (
        not address
        or "%%" in address
        or path in _OLD_PATHS
        or f"/{path}".endswith(_OLD_ENDS)
        or parts.fragment.startswith(_OLD_FRAGMENTS)
        or any(query.get(name) == [value] for name, value in _OLD_QUERIES.items())
    )

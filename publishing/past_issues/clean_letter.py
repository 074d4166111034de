"""Clean a letter of another product and copy its images.

Only the function `take`, which copies an image, has side effects.

Subscribe forms, share buttons, polls, tracking pixels and merge tags are removed. The author's own
buttons, anchors and footnotes stay.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import parse_qs, quote, urlsplit

from delivery.mail.merge_fields import AS_ENTITIES
from delivery.mail.normalise_html import (
    VOID,
    normalise,
    parse_attributes,
    split_tags,
    texts_in_code,
)
from publishing.content.draft_content import LONGEST_MARKDOWN
from publishing.content.markdown import outside_code, render_markdown
from publishing.content.sanitise_html import sanitise_html
from publishing.past_issues.past_issue import Product, Skip, SkipIssueError, Take, word_of
from publishing.past_issues.read_export import split_mode

# Classes of elements that are removed, because they work only at the old product.
_REMOVED_CLASSES = {
    Product.SUBSTACK: frozenset({
        "subscription-widget-wrap", "subscription-widget-wrap-editor", "subscription-widget",
        "poll-embed", "native-video-embed", "comment", "community-chat", "directMessage",
        "image-link-expand", "install-substack-app-embed",
    }),
    Product.GHOST: frozenset({
        "kg-signup-card", "kg-email-card", "kg-email-cta-card", "kg-audio-card", "kg-video-card",
    }),
    Product.BUTTONDOWN: frozenset({"embeddable-buttondown-form", "buttondown-form"}),
}  # fmt: skip
_REMOVED_TAGS = frozenset({"form", "button", "audio", "video", "object", "canvas", "svg", "style"})
_FOOTNOTE_LINK, _FOOTNOTE_NUMBER = "footnote-anchor", "footnote-number"
# Like a browser, end an open paragraph where one of these elements begins or ends.
_BLOCKS = frozenset(
    "p div section article table ul ol li blockquote figure h1 h2 h3 h4 h5 h6 hr".split()  # noqa: SIM905
)
_PAYWALL_CLASS, _PAYWALL_COMMENT = "paywall-jump", "<!--members-only-->"
_LARGEST_PIXEL = 3
_TEMPLATE_TAG = re.compile(r"\{\{.{0,298}?\}\}|\{%.{0,298}?%\}", re.DOTALL)
_LONGEST_DATA = 100_000  # longest JSON in an attribute, in characters
# Classes of links that are buttons, and of elements around buttons.
_LINKS = {
    Product.GHOST: frozenset({
        "kg-btn", "kg-cta-button", "kg-product-card-button", "kg-header-card-button",
    }),
}  # fmt: skip
_AROUND = {Product.SUBSTACK: frozenset({"button-wrapper", "captioned-button-wrap"})}
_CAPTIONED = "captioned-button-wrap"
# The largest number of tags in a button with its caption. Real buttons have about 12 tags.
_MOST_TAGS = 30
# Paths and queries of the old product's own pages, which exist below every newsletter's address.
_OLD_PATHS = frozenset({"subscribe", "leaderboard", "survey", "account"})
_OLD_ENDS = ("/comments",)
_OLD_QUERIES = {"action": "share", "utm_content": "share", "gift": "true"}
_OLD_FRAGMENTS = ("/portal", "/share", "/search")

Part = tuple[str, str, str]  # a text, the tag after it, and the tag's attributes


def clean_letter(product: Product, letter: str, take: Take, slug: str = "") -> tuple[str, bool]:
    """Return the HTML of a letter, and whether an embedded player was left out.

    The letter's old address ends with `slug`. A link to an anchor at the old address becomes a link
    to the same anchor in the new letter. Raises `SkipIssueError`.
    """
    if product is Product.BUTTONDOWN:
        letter, is_html = split_mode(letter)
        if not is_html and len(letter) > LONGEST_MARKDOWN:
            raise SkipIssueError(Skip.TOO_LONG)
        letter = _without_template_tags(letter, is_html=is_html)
        if not is_html:
            letter = render_markdown(letter)
    if _PAYWALL_COMMENT in letter:
        raise SkipIssueError(Skip.NOT_PUBLIC)
    parts = list(split_tags(normalise(letter)))
    html = sanitise_html("".join(_cleaned(product, parts, take, slug)))
    # Braces in the old letter must not become merge fields of Homing.
    return html.replace("{{", "{".translate(AS_ENTITIES) * 2), "<iframe" in letter


def _cleaned(product: Product, parts: Sequence[Part], take: Take, slug: str) -> Iterator[str]:
    removed, depth, number, ends = "", 0, "", ""
    ids = _ids_of(parts)
    for at, (words, tag, rest) in enumerate(parts):
        if not removed:
            # Write the number of a footnote into the first paragraph of the footnote's text.
            if number and (words.strip() or not tag):
                yield number
                number = ""
            yield escape(words, quote=False)
        if removed == "p" and tag.removeprefix("/") in _BLOCKS:
            removed = ""
            if tag == "/p":
                continue
        elif removed:
            depth += (tag == removed) - (tag == f"/{removed}")
            removed = removed if depth else ""
            continue
        if not tag or tag.startswith("/"):
            yield f"<{tag}>" if tag else ""
            if tag == "/a":
                yield ends
                ends = ""
            continue
        attributes = parse_attributes(rest)
        classes = frozenset(attributes.get("class", "").split())
        if _PAYWALL_CLASS in classes:
            raise SkipIssueError(Skip.NOT_PUBLIC)
        is_kept = False  # whether the element's content is kept
        instead = _replace_button(product, classes, parts, at)
        if instead is None and _FOOTNOTE_NUMBER in classes and tag == "a":
            number, instead = f"<sup><a{rest}>{_link_words(parts, at)}</a></sup> ", ""
        if instead is None:
            instead, is_kept = _instead(product, tag, classes, attributes, take), tag == "a"
        if instead is None:
            if tag == "a" and _FOOTNOTE_LINK in classes:
                yield "<sup>"
                ends = "</sup>"
            anchor = _own_anchor(attributes.get("href", ""), slug, ids)
            yield f'<{tag} href="#{escape(anchor)}"{rest}>' if anchor else f"<{tag}{rest}>"
            if number and tag == "p":
                yield number
                number = ""
            continue
        yield instead
        # If a link is removed, the link's content stays. The link's end tag also stays, but has
        # no effect without a start tag.
        if tag not in VOID and not is_kept:
            removed, depth = tag, 1


def _ids_of(parts: Sequence[Part]) -> frozenset[str]:
    """Return the anchors of a letter: the ids of elements, and the names of links."""
    with_ids = (parse_attributes(rest) for _words, _tag, rest in parts if "=" in rest)
    return frozenset(one.get("id") or one.get("name", "") for one in with_ids) - {""}


def _own_anchor(address: str, slug: str, ids: frozenset[str]) -> str:
    """Return the anchor in this letter that an old absolute address names, if any."""
    if "#" not in address or address.startswith("#") or not slug:
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    is_own = parts.path.rstrip("/").rpartition("/")[2] == slug
    return parts.fragment if is_own and parts.fragment in ids else ""


def _instead(
    product: Product, tag: str, classes: frozenset[str], attributes: dict[str, str], take: Take
) -> str | None:
    """Return the HTML that replaces an element; None if the element stays."""
    if tag in _REMOVED_TAGS or classes & _REMOVED_CLASSES[product]:
        return ""
    if tag == "img":
        return _image(attributes, take)
    if tag == "a" and ("image-link" in classes or "%%" in attributes.get("href", "")):
        return ""
    if "image-gallery-embed" in classes:
        found = _data(attributes).get("gallery")
        images = found.get("images") if isinstance(found, dict) else None
        images = images if isinstance(images, list) else []
        sources = [word_of(one, "src") for one in images if isinstance(one, dict)]
        return "".join(f"<p>{_image({'src': one}, take)}</p>" for one in sources if one)
    if "youtube-wrap" in classes and (video := word_of(_data(attributes), "videoId")):
        address = f"https://www.youtube.com/watch?v={quote(video, safe='')}"
        return f'<p><a href="{address}">{address}</a></p>'
    return None


def _image(attributes: dict[str, str], take: Take) -> str:
    style = attributes.get("style", "").replace(" ", "").lower()
    is_hidden = "display:none" in style or "visibility:hidden" in style
    sides = (attributes.get(side, "").removesuffix("px") for side in ("width", "height"))
    is_pixel = any(side.isdecimal() and int(side[:9]) <= _LARGEST_PIXEL for side in sides)
    taken = None if is_hidden or is_pixel else take(attributes.get("src", "").strip())
    if taken is None:
        return ""
    address, width, height = taken
    size = f' width="{width}" height="{height}"' if width else ""
    return f'<img src="{escape(address)}" alt="{escape(attributes.get("alt", ""))}"{size}>'


def is_pixel(width: int, height: int) -> bool:
    """Whether an image of this size is a tracking pixel."""
    return width <= _LARGEST_PIXEL and height <= _LARGEST_PIXEL


def _data(attributes: dict[str, str]) -> dict[str, object]:
    data = attributes.get("data-attrs", "")
    try:
        found = json.loads(data) if len(data) <= _LONGEST_DATA else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _without_template_tags(letter: str, *, is_html: bool) -> str:
    """Remove tags (`{{ … }}`, `{% … %}`) outside code, but not long or unclosed tags."""
    if is_html:
        codes = list(texts_in_code(letter))
        tags = [tag for tag in _TEMPLATE_TAG.finditer(letter) if not _is_within(codes, tag)]
    else:
        tags = outside_code(letter, _TEMPLATE_TAG)
    spans = {tag.span() for tag in tags}
    return _TEMPLATE_TAG.sub(lambda tag: "" if tag.span() in spans else tag[0], letter)


def _is_within(spans: Sequence[tuple[int, int]], found: re.Match[str]) -> bool:
    at = bisect_right(spans, (found.start(), len(found.string)))
    return at > 0 and found.start() < spans[at - 1][1]


def _replace_button(
    product: Product, classes: frozenset[str], parts: Sequence[Part], at: int
) -> str | None:
    """Return the HTML that replaces the button that begins at this tag.

    The result is empty for a button of the old product, and None if the element stays.
    """
    is_link = parts[at][1] == "a"
    if not classes & (_LINKS if is_link else _AROUND).get(product, frozenset()):
        return None
    button = _own_button(parts, at, parts[at][1])
    if button and _CAPTIONED in classes:
        return None  # The caption stays, and the button within it is replaced.
    return button


def _link_words(parts: Sequence[Part], at: int) -> str:
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
            address = parse_attributes(rest).get("href", "").strip()
            words = _link_words(parts, here)
            if words and _is_own(address):
                return f'<p class="button"><a href="{escape(address)}">{words}</a></p>'
        depth += (tag == outer) - (tag == f"/{outer}")
        if not depth:
            break
    return ""


def _is_own(address: str) -> bool:
    """Whether a button leads to a page that is not one of the old product's pages."""
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

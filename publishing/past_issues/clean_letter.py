"""Clean a letter of another product and copy its images. Pure but for `take`.

Removes subscribe forms, share buttons, polls, tracking pixels and merge tags."""

import io
import json
from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from delivery.mail.normalise_html import VOID, normalise, parse_attributes, split_tags
from publishing.content.draft_content import LONGEST_MARKDOWN
from publishing.content.markdown import render_markdown
from publishing.content.public_html import sanitise_html
from publishing.past_issues.past_issue import Product, Skip, SkipIssueError, Take, word_of
from publishing.past_issues.read_export import split_mode

# Elements of the old product that do nothing here, by class.
_REMOVED_CLASSES = {
    Product.SUBSTACK: frozenset({
        "button-wrapper", "captioned-button-wrap", "subscription-widget-wrap",
        "subscription-widget-wrap-editor", "subscription-widget", "poll-embed",
        "native-video-embed", "comment", "community-chat", "directMessage", "image-link-expand",
        "install-substack-app-embed",
    }),
    Product.GHOST: frozenset({
        "kg-signup-card", "kg-email-card", "kg-email-cta-card", "kg-audio-card", "kg-video-card",
    }),
    Product.BUTTONDOWN: frozenset({"embeddable-buttondown-form", "buttondown-form"}),
}  # fmt: skip
_REMOVED_TAGS = frozenset({"form", "button", "audio", "video", "object", "canvas", "svg", "style"})
# A paragraph also ends where one of these begins or ends.
_BLOCKS = frozenset(
    "p div section article table ul ol li blockquote figure h1 h2 h3 h4 h5 h6 hr".split()  # noqa: SIM905
)
_PAYWALL_CLASS, _PAYWALL_COMMENT = "paywall-jump", "<!--members-only-->"
_LARGEST_PIXEL = 3
_LONGEST_TEMPLATE_TAG = 300
_LONGEST_DATA = 100_000  # characters of JSON in an attribute


def clean_letter(product: Product, letter: str, take: Take) -> tuple[str, bool]:
    """Return the HTML of a letter, and whether an embedded player was left out.

    Raises `SkipIssueError`."""
    if product is Product.BUTTONDOWN:
        letter, is_html = split_mode(_without_template_tags(letter))
        if not is_html:
            if len(letter) > LONGEST_MARKDOWN:
                raise SkipIssueError(Skip.TOO_LONG)
            letter = render_markdown(letter)
    if _PAYWALL_COMMENT in letter:
        raise SkipIssueError(Skip.NOT_PUBLIC)
    html = sanitise_html("".join(_cleaned(product, normalise(letter), take)))
    # Braces of the old product must not become fields of ours.
    return html.replace("{{", "{&#123;"), "<iframe" in letter


def _cleaned(product: Product, html: str, take: Take) -> Iterator[str]:
    removed, depth = "", 0
    for words, tag, rest in split_tags(html):
        if not removed:
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
            continue
        attributes = parse_attributes(rest)
        classes = frozenset(attributes.get("class", "").split())
        if _PAYWALL_CLASS in classes:
            raise SkipIssueError(Skip.NOT_PUBLIC)
        instead = _instead(product, tag, classes, attributes, take)
        if instead is None:
            yield f"<{tag}{rest}>"
            continue
        yield instead
        # The content of a link stays, and its end tag alone does nothing.
        if tag not in VOID and tag != "a":
            removed, depth = tag, 1


def _instead(
    product: Product, tag: str, classes: frozenset[str], attributes: dict[str, str], take: Take
) -> str | None:
    """Return the HTML that replaces an element; None if it stays."""
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


def _without_template_tags(text: str) -> str:
    """Remove `{{ … }}` and `{% … %}`. A tag without a near end is text."""
    for opening, closing in (("{{", "}}"), ("{%", "%}")):
        kept, begin, at = io.StringIO(), 0, text.find(opening)
        while at >= 0:
            end = text.find(closing, at + 2, at + 2 + _LONGEST_TEMPLATE_TAG)
            if end >= 0:
                kept.write(text[begin:at])
                begin = end + 2
            at = text.find(opening, max(at + 2, begin))
        kept.write(text[begin:])
        text = kept.getvalue()
    return text

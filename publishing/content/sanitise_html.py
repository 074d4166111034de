"""Render a sanitised letter for the archive.

A sanitised letter cannot run scripts or post forms in the name of our site.
"""

import re
from urllib.parse import urlsplit

import nh3
from django.utils.html import linebreaks, strip_tags, urlize
from django.utils.safestring import SafeString, mark_safe

from delivery.mail.merge_fields import FieldTemplate
from delivery.mail.normalise_html import normalise
from publishing.content.edition_content import only_xml_characters
from publishing.content.finish_sanitised_tags import SECTIONS, finish_tags

TAGS = {
    "a", "abbr", "b", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd", "del",
    "details", "div", "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6",
    "hr", "i", "img", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "s", "samp", "small",
    "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead",
    "time", "tr", "u", "ul", "var",
}  # fmt: skip
ATTRIBUTES = {
    "*": {"id", "lang", "dir", "title"},
    "a": {"href", "name"},
    "img": {"src", "alt", "width", "height", "align"},
    "ol": {"start", "reversed"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "time": {"datetime"},
}
# Keep only the classes of the letter's own stylesheet. Any other class could get styles from the
# desk's stylesheet.
CLASSES = {"p": {"open", "button"}, "td": {"num"}, "th": {"num"}}
# These elements are removed with their content.
DROPPED_WHOLE = {"script", "style", "title", "template", "noscript", "iframe", "object", "svg",
                 "math", "textarea", "select"}  # fmt: skip
SCHEMES = {"http", "https", "mailto", "tel", "data"}
IMAGE_DATA = re.compile(r"data:image/(?:png|jpeg|gif|webp|avif);base64,", re.IGNORECASE)

_ALIGNMENTS = {"left", "right", "center"}
_HEADING = re.compile(r"<h1\b[^>]*>(.*?)</h1>", re.DOTALL)
_H1 = re.compile(r"<(/?)h1\b")


def render_public_issue(
    title: str, html: str, text: str, *, leave_url: str, choose_url: str, archive_url: str
) -> SafeString:
    """Return a letter as HTML, with fallbacks instead of the readers' values."""
    values = {
        "unsubscribe_url": leave_url,
        "preferences_url": choose_url,
        "archive_url": archive_url,
    }
    if html.strip():
        body = FieldTemplate(html, html=True).fill(values)
    else:
        plain = FieldTemplate(text, html=False).fill(values)
        body = linebreaks(urlize(plain, autoescape=True))
    clean = finish_tags(_under_title(title, _sanitised(body)), archive_url)
    return mark_safe(clean)  # noqa: S308 -- sanitised


def sanitise_html(html: str) -> str:
    """Remove scripts, styles, forms, frames and illegal XML characters."""
    return finish_tags(_sanitised(html))


def _sanitised(html: str) -> str:
    # Limit the nesting of elements first, because parsing unlimited nesting takes quadratic time.
    clean = _clean(normalise(html))
    legal = only_xml_characters(clean)
    # Sanitise again if a character was removed: an address without that character may be harmful.
    return clean if legal == clean else _clean(legal)


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=TAGS | SECTIONS,
        clean_content_tags=DROPPED_WHOLE,
        attributes=ATTRIBUTES,
        attribute_filter=_attribute,
        allowed_classes=CLASSES,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    """Return the attribute's value, or None to drop it.

    An image's address may have https, be a path on this site, or be a data URL.
    """
    if name == "align":
        return value.lower() if value.lower() in _ALIGNMENTS else None
    if name not in {"src", "href"}:
        return value
    address = urlsplit(value.strip())
    if name == "href":
        return None if address.scheme == "data" else value
    if address.scheme == "data":
        return value if IMAGE_DATA.match(value.strip()) else None
    return value if address.scheme in {"https", ""} else None


def _under_title(title: str, body: str) -> str:
    """Drop a first heading that repeats the title; make every other `h1` an `h2`."""
    first = _HEADING.search(body)
    if first and _words(strip_tags(first[1])) == _words(title):
        body = body[: first.start()] + body[first.end() :]
    return _H1.sub(r"<\1h2", body)


def _words(text: str) -> list[str]:
    return text.casefold().split()

"""Rendering of the sandbox's pages, with their security headers."""

from functools import cache
from pathlib import Path
from typing import Any

from django.template import Context, Engine, Library
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe

from postmark_sandbox.http import HTML, Response
from postmark_sandbox.sandbox_state import Sandbox
from postmark_sandbox.times import clock_text, day_text

REPOSITORY = Path(__file__).parents[2]
# The folder is not named `static`, because the site would then collect its files, and the site has
# files with the same names.
PAGE_FILES = Path(__file__).parent / "page_files"
# The site's icons and styles. Without these files the pages work, but have no styles.
SITE_TEMPLATES = REPOSITORY / "templates"
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
NAVIGATION = {"Messages": "/", "Faults": "/faults", "Calls": "/calls"}
register = Library()
register.filter("clock", clock_text)
register.filter("day", day_text)


@cache
def engine() -> Engine:
    """Return Django's template engine, without Django's settings."""
    return Engine(dirs=[str(PAGE_FILES), str(SITE_TEMPLATES)], builtins=[__name__])


def page(sandbox: Sandbox, title: str, template: str, status: int = 200, **values: Any) -> Response:
    """Render a template; `title` is its entry in the navigation."""
    frame = {
        "title": title,
        "navigation": NAVIGATION,
        "has_glyphs": (SITE_TEMPLATES / "layouts" / "glyphs.html").exists(),
        "desk_url": sandbox.desk_url,
        "port": sandbox.url.rpartition(":")[2],
    }
    context = Context(frame | values, use_l10n=False)
    html = engine().get_template(template).render(context)
    return html_response(html, POLICY, "same-origin", status)


def html_response(html: str, policy: str, referrer: str, status: int = 200) -> Response:
    """Return an HTML response with a security policy and a referrer policy."""
    headers = {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": referrer,
        "Cache-Control": "no-store",
    }
    return Response(status, html.encode("utf-8", "replace"), HTML, headers)


@register.filter
def counted(number: int, nouns: str) -> str:
    """Format a count: `1 message`, `41,412 messages`.

    `nouns`: the singular, or the singular and the plural separated by a comma.
    """
    one, _, many = nouns.partition(",")
    return f"{number:,} {one if number == 1 else many or one + 's'}"


@register.filter
def comma(number: float) -> str:
    """Format a whole number with commas."""
    return f"{number:,.0f}"


@register.filter
def breakable(address: str) -> str:
    """Return the address as HTML; if possible, a narrow column breaks it after the @."""
    return format_html_join(mark_safe("@<wbr>"), "{}", ((part,) for part in address.split("@")))


@register.simple_tag
def glyph(name: str, look: str = "") -> str:
    """Return the HTML of an icon, which screen readers skip."""
    html = '<svg class="glyph {}" aria-hidden="true"><use href="#{}"/></svg>'
    return format_html(html, look, name)


@register.simple_tag
def state(name: str, look: str, word: object) -> str:
    """Return the HTML of an icon with its label."""
    return format_html('<span class="state {}">{}{}</span>', look, glyph(name), word)

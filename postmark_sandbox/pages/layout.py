"""Rendering a page of the sandbox in its frame, with the headers that keep it safe."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postmark_sandbox.http.response import HTML, Response
from postmark_sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from django.template import Engine

# Not `static`: the site would collect it beside its own files of the same names.
PAGE_FILES = Path(__file__).parent / "page_files"
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
NAVIGATION = {
    "Messages": "/",
    "Suppressions": "/suppressions",
    "Faults": "/faults",
    "Calls": "/calls",
}


@cache
def engine() -> "Engine":
    """Django's template engine. It needs no settings, and only pages load it."""
    from django.template import Engine

    return Engine(dirs=[str(PAGE_FILES)], builtins=["postmark_sandbox.pages.tags"])


def counted(number: int, nouns: str) -> str:
    """`1 message`, `41,412 messages`; `nouns` are one or two, with a comma between them."""
    one, _, many = nouns.partition(",")
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def page(sandbox: Sandbox, title: str, template: str, status: int = 200, **values: Any) -> Response:
    """Render a template; `title` is its part of the navigation."""
    from django.template import Context

    frame = {
        "title": title,
        "navigation": NAVIGATION,
        "desk_url": sandbox.desk_url,
        "port": sandbox.url.rpartition(":")[2],
    }
    context = Context(frame | values, use_l10n=False)
    html = engine().get_template(template).render(context)
    return html_response(html, POLICY, "same-origin", status)


def html_response(html: str, policy: str, referrer: str, status: int = 200) -> Response:
    headers = {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": referrer,
        "Cache-Control": "no-store",
    }
    return Response(status, html.encode("utf-8", "replace"), HTML, headers)

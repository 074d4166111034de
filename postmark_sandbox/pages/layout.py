"""The only place for what every page of the sandbox shares: band, navigation, policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postmark_sandbox.http.response import HTML, Answer
from postmark_sandbox.pages.markup import Markup, fill, joined

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
PLACES = {
    "Messages": "/",
    "Suppressions": "/suppressions",
    "Faults": "/faults",
    "Calls": "/calls",
}


def framed(sandbox: Sandbox, place: str, content: Markup, status: int = 200) -> Answer:
    """A page of the sandbox; `place` is the one of the four that it belongs to."""
    links = [
        fill(
            '<li><a href="{href}"{current}>{name}</a></li>',
            href=href,
            current=Markup(' aria-current="page"') if name == place else Markup(""),
            name=name,
        )
        for name, href in PLACES.items()
    ]
    page = fill(
        PAGE,
        title=place,
        links=joined(links),
        back=fill('<a href="{href}">Back to the desk</a> ', href=sandbox.desk_url)
        if sandbox.desk_url
        else Markup(""),
        port=sandbox.url.rpartition(":")[2],
        content=content,
    )
    headers = {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
    return Answer(status, page.encode("utf-8", "replace"), HTML, headers)


def glyph(name: str, look: str = "") -> Markup:
    """One of the signs of the page; beside a word, so hidden from screen readers."""
    return fill(
        '<svg class="glyph {look}" aria-hidden="true"><use href="#{name}"/></svg>',
        look=look,
        name=name,
    )


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}: sandbox inbox</title>
<link rel="icon" href="/static/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/homing.css">
<link rel="stylesheet" href="/static/sandbox.css">
</head>
<body>
<svg width="0" height="0" aria-hidden="true" class="hide"><defs>
<symbol id="pigeon" viewBox="0 0 32 32"><path fill="currentColor" fill-rule="evenodd" \
d="M1.2 24.6 15.4 13.6c1.7-1.3 1.9-2.9 2.1-4.8.3-3 2.3-5.3 5.1-5.3 2.4 0 4.2 1.5 4.8 3.7l3.4 \
2.2-3 1c.7 1.7 1.1 3.6 1.1 5.5 0 7-5.5 11.6-12.7 11.6H9.6l-6 1.6zM9.6 23.2h4.6c5.3 0 9-3.5 \
9.2-9z"/></symbol>
<symbol id="sent" viewBox="0 0 16 16"><circle class="f" cx="8" cy="8" r="7"/>\
<path class="k" d="m4.7 8.3 2.3 2.3 4.3-5"/></symbol>
<symbol id="waiting" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6"/></symbol>
<symbol id="unknown" viewBox="0 0 16 16"><path d="M8 1.3 14.7 8 8 14.7 1.3 8z"/>\
<path d="M6.2 6.6c.1-2.4 3.7-2.3 3.5-.1C9.6 7.9 8 7.7 8 9.3m0 1.3v1.3"/></symbol>
<symbol id="failed" viewBox="0 0 16 16"><path class="f" d="M5 1h6l4 4v6l-4 4H5l-4-4V5z"/>\
<path class="k" d="m5.3 5.3 5.4 5.4m0-5.4-5.4 5.4"/></symbol>
<symbol id="withdrawn" viewBox="0 0 16 16"><path d="M6 3 2.5 6.5 6 10M3 6.5h6.5a3.5 3.5 0 0 1 0 \
7H6"/></symbol>
<symbol id="attention" viewBox="0 0 16 16"><path class="f" d="M8 1 15.5 14.5H.5z"/>\
<path class="k" d="M8 5.5v4.3m0 1.2v1.5"/></symbol>
</defs></svg>
<a class="skip" href="#main">To the content</a>
<aside class="band" aria-label="Sandbox"><b>Sandbox.</b> A stand-in for Postmark on this machine. \
Nothing here leaves it; no reader gets any of this.</aside>
<header class="mast"><a class="brand" href="/"><svg aria-hidden="true"><use href="#pigeon"/></svg>\
Sandbox inbox</a>
<nav aria-label="Sandbox"><ul>
{links}
</ul></nav><div class="who">{back}Port {port}</div></header>
<main id="main">
{content}
</main>
</body>
</html>
"""

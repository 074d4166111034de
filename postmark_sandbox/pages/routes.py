"""The only place that says which page of the sandbox is shown at which address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Answer, plain, see_other
from postmark_sandbox.pages.calls import calls_page
from postmark_sandbox.pages.events import let_happen, unsubscribe_as_provider
from postmark_sandbox.pages.faults import clear_faults, faults_page, hurry, release, set_fault
from postmark_sandbox.pages.frame import framed
from postmark_sandbox.pages.inbox import mail_page, messages_page
from postmark_sandbox.pages.markup import Markup, counted, fill
from postmark_sandbox.pages.suppressions import (
    add_suppression,
    lift_suppression,
    suppressions_page,
)

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

# Not `static`: the site would collect it beside its own files of the same names.
PAGE_FILES = Path(__file__).parent / "page_files"
STATIC_FILES = {
    "homing.css": "text/css; charset=utf-8",
    "sandbox.css": "text/css; charset=utf-8",
    "favicon.svg": "image/svg+xml",
}
MAIL = re.compile(r"/message/([0-9a-f-]{36})/html")
HAPPEN = re.compile(r"/message/([0-9a-f-]{36})/(events|one-click)")
UNSUBSCRIBE = re.compile(r"/unsubscribe/([0-9a-f-]{36})/")


def answer(sandbox: Sandbox, request: Request) -> Answer:
    """Answers a request to one of the pages."""
    if request.method in ("GET", "HEAD"):
        return _shown(sandbox, request)
    if request.method != "POST":
        return plain(405, f"{request.method} is not possible here.")
    if match := UNSUBSCRIBE.fullmatch(request.path):
        # One-click comes from anywhere, by design: it is the only post that asks for no origin.
        return _unsubscribed(sandbox, match.group(1))
    if not _from_here(request):
        return plain(403, "This form was sent from another site. Nothing was changed.")
    match request.path:
        case "/faults":
            return set_fault(sandbox, request)
        case "/faults/clear":
            return clear_faults(sandbox, request)
        case "/faults/release":
            return release(sandbox, request)
        case "/faults/hurry":
            return hurry(sandbox)
        case "/suppressions":
            return add_suppression(sandbox, request)
        case "/suppressions/lift":
            return lift_suppression(sandbox, request)
        case "/empty":
            sandbox.reset()
            return see_other("/")
    if match := HAPPEN.fullmatch(request.path):
        act = let_happen if match.group(2) == "events" else unsubscribe_as_provider
        return act(sandbox, request, match.group(1))
    return plain(404, f"There is nothing at {request.path}.")


def _shown(sandbox: Sandbox, request: Request) -> Answer:
    match request.path:
        case "/":
            return messages_page(sandbox, request)
        case "/suppressions":
            return suppressions_page(sandbox, request)
        case "/faults":
            return faults_page(sandbox)
        case "/calls":
            return calls_page(sandbox)
        case "/empty":
            return _empty_page(sandbox)
    if match := MAIL.fullmatch(request.path):
        return mail_page(sandbox, match.group(1))
    if match := UNSUBSCRIBE.fullmatch(request.path):
        return _unsubscribe_page(sandbox, match.group(1))
    name = request.path.removeprefix("/static/")
    if name in STATIC_FILES:
        body = (PAGE_FILES / name).read_bytes()
        return Answer(200, body, STATIC_FILES[name], {"Cache-Control": "no-cache"})
    return plain(404, f"There is nothing at {request.path}.")


def _from_here(request: Request) -> bool:
    """Whether a form came from one of these pages. Programs that send no Origin are let in."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _empty_page(sandbox: Sandbox) -> Answer:
    number = counted(sandbox.outbox.count, "message", "messages")
    return framed(sandbox, "Faults", fill(EMPTY, number=number))


def _unsubscribe_page(sandbox: Sandbox, message_id: str) -> Answer:
    number = sandbox.outbox.number_of(message_id)
    if number is None:
        return plain(404, "This message is not in the inbox.")
    message = sandbox.outbox.message(number)
    return framed(
        sandbox,
        "Messages",
        fill(LEAVE, address=message.recipients[0], stream=message.stream, id=message_id),
    )


def _unsubscribed(sandbox: Sandbox, message_id: str) -> Answer:
    number = sandbox.outbox.number_of(message_id)
    if number is None:
        return plain(404, "This message is not in the inbox.")
    message = sandbox.outbox.message(number)
    address = message.recipients[0]
    if address.lower() not in sandbox.suppressions.of(message.stream):
        sandbox.aftermath.unsubscribe(message, address)
    return framed(sandbox, "Messages", fill(LEFT, address=address, stream=message.stream))


EMPTY = Markup("""<section class="head"><form class="sheet" method="post" action="/empty">
<h1>Empty the inbox of {number}?</h1>
<p>Faults, suppressions, bounces and the log of calls go as well.
<b>Copies cannot be counted afterwards.</b></p>
<p class="acts"><button class="btn risk">Empty it of {number}</button>
<a class="btn" href="/">Keep them</a></p></form></section>""")
LEAVE = """<section class="head"><form class="sheet" method="post" action="/unsubscribe/{id}/">
<h1>Unsubscribe {address}?</h1>
<p>This is what Postmark's own unsubscribe link leads to. The address is put on the suppression
list of the stream {stream}.</p>
<p class="acts"><button class="btn">Unsubscribe</button></p></form></section>"""
LEFT = """<header class="head"><h1>Unsubscribed</h1>
<p class="lede">{address} gets nothing more on the stream {stream}.</p></header>"""

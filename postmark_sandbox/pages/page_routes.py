"""URLs of the sandbox's pages."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from postmark_sandbox.http import Request, Response, plain, see_other
from postmark_sandbox.pages import faults_page, messages_page
from postmark_sandbox.pages.layout import PAGE_FILES, REPOSITORY, page
from postmark_sandbox.sandbox_state import Sandbox
from postmark_sandbox.state.accepted_messages import Message

SITE_FILES = REPOSITORY / "static"
STATIC_FILES = {
    "/static/homing.css": (SITE_FILES / "homing.css", "text/css; charset=utf-8"),
    "/static/favicon.svg": (SITE_FILES / "favicon.svg", "image/svg+xml"),
    "/static/tokens.css": (SITE_FILES / "tokens.css", "text/css; charset=utf-8"),
    "/static/sandbox.css": (PAGE_FILES / "sandbox.css", "text/css; charset=utf-8"),
}
SHOWN_CALLS = 200
OF_MESSAGE = re.compile(r"(/message|/unsubscribe)/([0-9a-f-]{36})/(html|events|)")


def respond(sandbox: Sandbox, request: Request) -> Response:
    """Handle a request to one of the pages."""
    method = "GET" if request.method == "HEAD" else request.method
    if method not in ("GET", "POST"):
        return plain(405, f"{request.method} is not allowed here.")
    match = OF_MESSAGE.fullmatch(request.path)
    on_message = ON_MESSAGE.get((method, match[1], match[3])) if match else None
    # One-click unsubscribe requests come from other sites by design, so their origin is not
    # checked.
    if method == "POST" and on_message is not _unsubscribe and not _from_here(request):
        return plain(403, "This form was sent from another site. Nothing was changed.")
    if match and on_message is not None:
        message = sandbox.outbox.find(match[2])
        if message is None:
            return plain(404, "This message is not in the inbox.")
        return on_message(sandbox, request, message)
    if show := PAGES.get((method, request.path)):
        return show(sandbox, request)
    if method == "GET" and request.path in STATIC_FILES:
        file, content_type = STATIC_FILES[request.path]
        if file.exists():
            return Response(200, file.read_bytes(), content_type, {"Cache-Control": "no-cache"})
    return plain(404, f"Nothing exists at {request.path}.")


def _from_here(request: Request) -> bool:
    """Return whether a form came from one of these pages.

    A request without the header Origin passes, because only programs send such a request.
    """
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _show_calls(sandbox: Sandbox, request: Request) -> Response:
    calls, counts = sandbox.calls.newest_first(SHOWN_CALLS), sandbox.calls.counts()
    faulty = sum(counts["by_fault"].values())
    return page(sandbox, "Calls", "calls.html", total=counts["total"], faulty=faulty, calls=calls)


def _ask_to_empty(sandbox: Sandbox, request: Request) -> Response:
    return page(sandbox, "Faults", "empty.html", count=sandbox.outbox.count)


def _empty(sandbox: Sandbox, request: Request) -> Response:
    sandbox.reset()
    return see_other("/")


def _unsubscribe(sandbox: Sandbox, request: Request, message: Message) -> Response:
    address, is_done = message.recipients[0], request.method == "POST"
    if is_done and address.lower() not in sandbox.suppressions.of(message.stream):
        sandbox.events.unsubscribe(message, address)
    template = "unsubscribe_link.html"
    return page(sandbox, "Messages", template, message=message, address=address, is_done=is_done)


PAGES: dict[tuple[str, str], Callable[[Sandbox, Request], Response]] = {
    ("GET", "/"): messages_page.show,
    ("GET", "/faults"): faults_page.show,
    ("GET", "/calls"): _show_calls,
    ("GET", "/empty"): _ask_to_empty,
    ("POST", "/faults"): faults_page.add,
    ("POST", "/faults/clear"): faults_page.change,
    ("POST", "/faults/release"): faults_page.change,
    ("POST", "/faults/hurry"): faults_page.change,
    ("POST", "/empty"): _empty,
}
ON_MESSAGE: dict[tuple[str, str, str], Callable[[Sandbox, Request, Message], Response]] = {
    ("GET", "/message", "html"): messages_page.show_html,
    ("POST", "/message", "events"): messages_page.add_event,
    ("GET", "/unsubscribe", ""): _unsubscribe,
    ("POST", "/unsubscribe", ""): _unsubscribe,
}

"""The page of messages: the list, one message in its parts, and its HTML."""

import re
from urllib.parse import urlencode

from postmark_sandbox.faults.fault_rules import FAULT_KINDS
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Response
from postmark_sandbox.pages import layout
from postmark_sandbox.pages.layout import NOTHING, Markup, counted, joined, quiet
from postmark_sandbox.pages.message_events import event_state, events_part
from postmark_sandbox.rules.magic_addresses import EventType
from postmark_sandbox.sandbox import Sandbox
from postmark_sandbox.state.outbox import Message
from postmark_sandbox.state.outbox_search import TextFilter, find_page
from postmark_sandbox.state.raw_mail import body_of, headers_of, source
from postmark_sandbox.times import clock_text, day_text

render = layout.Templates("messages.html")
PER_PAGE = 20
PARTS = {
    "html": "HTML",
    "text": "Text",
    "headers": "Headers",
    "source": "Source",
    "events": "Events",
}
# The mail's own inline styles may apply, its pictures may load, its links open an ordinary window
# of their own; nothing else of it may act.
MAIL_SANDBOX = "allow-popups allow-popups-to-escape-sandbox"
MAIL_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src * data:; frame-ancestors 'self'; "
    f"sandbox {MAIL_SANDBOX}"
)
# A tag before the doctype would change how the browser lays the mail out.
DOCTYPE = re.compile(r"\s*<!doctype[^>]*>", re.IGNORECASE)
LINKS_OPEN_OUTSIDE = '<base target="_blank">'
# These do not change the state that the list shows.
NO_CHANGE = (EventType.DELIVERED, EventType.ONE_CLICK)


def show(sandbox: Sandbox, request: Request) -> Response:
    """`GET /`: the list, newest first, and one message beside it."""
    query, outbox = request.query, sandbox.outbox
    text, page = query.get("q", ""), query.get("page", "")
    number = max(int(page), 1) if page.isascii() and page.isdigit() and len(page) < 9 else 1
    offset = (number - 1) * PER_PAGE
    total, numbers = find_page(outbox, TextFilter(text), offset, PER_PAGE)
    asked = outbox.number_of(query.get("message", ""))
    chosen = asked if asked is not None else next(iter(numbers), None)
    kept = {"q": text, "page": page}
    title, note = counted(outbox.count, "message"), "Newest first"
    if outbox.count == 0:
        content, note = render("empty"), ""
    else:
        message = NOTHING
        if chosen is not None:
            message = _message(sandbox, outbox.message(chosen), query.get("part", ""), kept)
        content = render(
            "mailbox",
            open=" open" if asked is not None else "",
            text=text,
            list=_list(sandbox, numbers, chosen, kept)
            if numbers
            else quiet(f"No message has “{text}” in it."),
            pages=_pages(total, offset, len(numbers), text) if numbers else NOTHING,
            message=message,
        )
    page_content = [
        layout.head(title, _sentence(sandbox)),
        layout.section("m", "Messages", note, content),
    ]
    return layout.framed(sandbox, "Messages", joined(page_content))


def show_html(sandbox: Sandbox, request: Request, message: Message) -> Response:
    """The HTML of one mail, as a response of its own with a policy of its own."""
    html = body_of(message, "HtmlBody", sandbox.unsubscribe_url(message))
    doctype = DOCTYPE.match(html)
    start = doctype.end() if doctype else 0
    html = html[:start] + LINKS_OPEN_OUTSIDE + html[start:]
    return layout.html_response(html, MAIL_POLICY, "no-referrer")


def _sentence(sandbox: Sandbox) -> Markup:
    counts = sandbox.outbox.counts()
    if not counts["accepted"]:
        return Markup("The inbox is empty. Nothing was sent yet.")
    letters = sum(n for s, n in counts["by_stream"].items() if sandbox.streams.is_broadcast(s))
    others = counts["accepted"] - letters
    kinds = [counted(letters, "letter")] if letters else []
    kinds += [counted(others, "transactional mail")] if others else []
    twice = max(
        counts["readers_with_two_of_one_edition"], counts["deliveries_with_more_than_one_copy"]
    )
    named = counts["distinct_deliveries"]
    if twice:
        found = counted(twice, "reader has", "readers have") + " two of one edition"
    else:
        found = "nobody has two of one edition" if named else "none of them names its delivery"
    text = f"{' and '.join(kinds)}; {found}."
    unnamed, unreported = counts["without_delivery_key"], counts["accepted_without_telling"]
    if unnamed and named:
        text += f" {counted(unnamed, 'does', 'do')} not name a delivery."
    if unreported:
        text += f" {counted(unreported, 'was', 'were')} accepted without telling the caller."
    return layout.with_glyph(*(("failed", "fault") if twice else ("sent", "sent")), text)


def _list(sandbox: Sandbox, numbers: list[int], chosen: int | None, kept: dict[str, str]) -> Markup:
    rows = []
    for number in numbers:
        stored = sandbox.outbox.request_of(number)
        first, *others = stored.all_recipients(number)
        rows.append(
            render(
                "row",
                href=_link(kept, message=sandbox.outbox.id_of(number)),
                current=layout.attribute_if(number == chosen, 'aria-current="true"'),
                to=f"{first} and {len(others)} more" if others else first,
                subject=stored.value(stored.subject, number) or "No subject",
                state=_state(sandbox, number, stored.reply),
                at=clock_text(stored.at_ns),
            )
        )
    return render("rows", rows=joined(rows))


def _state(sandbox: Sandbox, number: int, reply: str) -> Markup:
    events = [e for e in sandbox.events.of(number) if e.outcome not in NO_CHANGE]
    if events:
        return event_state(events[-1])
    if reply:
        return layout.state("unknown", "doubt", _unreported(reply))
    return layout.state("sent", "sent", "Delivered")


def _unreported(reply: str) -> str:
    """How the caller failed to learn that a message was accepted."""
    if reply == "hold":
        return "Accepted, reply dropped"
    return FAULT_KINDS[reply].unreported if reply in FAULT_KINDS else "Accepted, caller gone"


def _pages(total: int, offset: int, shown: int, text: str) -> Markup:
    number = offset // PER_PAGE + 1
    turns = []
    if number > 1:
        newer = _link({"q": text}, page=str(number - 1))
        turns.append(render("newer", href=newer))
    if offset + shown < total:
        older = _link({"q": text}, page=str(number + 1))
        turns.append(render("older", href=older))
    where = f"{offset + 1:,} to {offset + shown:,} of {total:,}"
    return render("pages", where=where, turns=joined(turns))


def _message(sandbox: Sandbox, message: Message, part: str, kept: dict[str, str]) -> Markup:
    part = part if part in PARTS else "html"
    message_id = message.header("Message-ID") or f"<{message.id}@mtasv.net>"
    facts: list[tuple[str, object]] = [
        ("To", message.item.get("To") or ", ".join(message.recipients)),
        ("From", message.item["From"]),
        ("Accepted", day_text(message.at_ns)),
        ("Stream, tag", ", ".join(filter(None, (message.stream, message.tag)))),
        ("Message-ID", render("message_id", id=message_id)),
        ("Unsubscribe", _unsubscribe(sandbox, message)),
        ("Copies", _copies(sandbox, message)),
    ]
    facts += [
        (event.label, f"{event.address}, {day_text(event.at_ns)}")
        for event in sandbox.events.of(message.number)
        if event.outcome is not EventType.ONE_CLICK
    ]
    if message.reply:
        facts.append(("Answer", _unreported(message.reply)))
    tabs = (
        render(
            "tab",
            href=_link(kept, message=message.id, part=name),
            current=layout.attribute_if(name == part, 'aria-current="true"'),
            label=label,
        )
        for name, label in PARTS.items()
    )
    return render(
        "article",
        back=_link(kept),
        subject=message.subject or "No subject",
        facts=joined(render("fact", name=n, value=v) for n, v in facts),
        tabs=joined(tabs),
        part=_part(sandbox, message, part),
    )


def _part(sandbox: Sandbox, message: Message, part: str) -> Markup:
    unsubscribe_url = sandbox.unsubscribe_url(message)
    match part:
        case "html" if message.item.get("HtmlBody"):
            return render("frame", id=message.id, sandbox=MAIL_SANDBOX)
        case "html":
            return quiet("This message has no HTML part.")
        case "text":
            text = body_of(message, "TextBody", unsubscribe_url)
            return render("raw", text=text) if text else quiet("This message has no text part.")
        case "headers":
            rows = headers_of(message, unsubscribe_url)
            rows += [(f"Metadata {name}", value) for name, value in message.metadata.items()]
            filled = joined(render("header", name=name, value=value) for name, value in rows)
            return render("headers", rows=filled)
        case "source":
            return render("raw", text=source(message, unsubscribe_url))
    return events_part(sandbox, message)


def _unsubscribe(sandbox: Sandbox, message: Message) -> Markup:
    events = sandbox.events.of(message.number)
    tried = [event for event in events if event.outcome is EventType.ONE_CLICK]
    if tried:
        return render("tried", result=tried[-1].detail)
    if (own := sandbox.unsubscribe_url(message)) is not None:
        return render("unsubscribe_by_postmark", url=own)
    field = message.header("List-Unsubscribe")
    targets = [part.strip().strip("<>") for part in field.split(",")]
    web = next((t for t in targets if t.lower().startswith(("http:", "https:"))), None)
    if web is None:
        return Markup("by mail only" if field else "no header")
    return render(
        "unsubscribe",
        how="one-click" if sandbox.read_one_click_link(message).valid else "a link, not one-click",
        url=web,
    )


def _copies(sandbox: Sandbox, message: Message) -> Markup:
    delivery = message.metadata.get("delivery")
    if delivery is None:
        return Markup("not known: it names no delivery")
    copies = len(sandbox.outbox.with_metadata("delivery", delivery))
    if copies == 1:
        return Markup("1")
    return layout.state("failed", "fault", copies)


def _link(kept: dict[str, str], **more: str) -> str:
    query = urlencode({name: value for name, value in (kept | more).items() if value})
    return f"/?{query}" if query else "/"

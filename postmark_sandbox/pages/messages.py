"""The only place that shows what was sent: the page of messages, and one message in its parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from postmark_sandbox.events.magic_addresses import Fate
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import HTML, Answer, plain
from postmark_sandbox.pages.events import NOTHING_NEW, events_part, state, stated
from postmark_sandbox.pages.frame import framed, glyph
from postmark_sandbox.pages.markup import Markup, counted, fill, joined
from postmark_sandbox.pages.raw_mail import body_of, header, headers_of, source
from postmark_sandbox.postmark_api.search import page
from postmark_sandbox.state.outbox import Message, Outbox, Parcel
from postmark_sandbox.times import clock_text, day_text

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

PER_PAGE = 20
PARTS = {
    "html": "HTML",
    "text": "Text",
    "headers": "Headers",
    "source": "Source",
    "events": "Events",
}
# The mail's own inline styles may apply, its pictures may load, its links open a window of their
# own, which is an ordinary one; nothing else of it may act.
MAIL_SANDBOX = "allow-popups allow-popups-to-escape-sandbox"
MAIL_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src * data:; frame-ancestors 'self'; "
    f"sandbox {MAIL_SANDBOX}"
)
# Before the doctype it would change how the browser lays the mail out.
DOCTYPE = re.compile(r"\s*<!doctype[^>]*>", re.IGNORECASE)
LINKS_OPEN_OUTSIDE = '<base target="_blank">'
UNTOLD = {
    "accept_then_close": "Accepted, reply dropped",
    "accept_first_k_then_close": "Accepted, reply dropped",
    "accept_then_500": "Accepted, answered 500",
    "accept_then_stall": "Accepted, reply stalled",
    "accept_then_drip": "Accepted, reply dripped",
    "accept_then_truncate": "Accepted, reply cut short",
    "accept_then_garble": "Accepted, reply garbled",
    "accept_then_wrong_length": "Accepted, one result too few",
    "caller_gone": "Accepted, caller gone",
    "hold": "Accepted, reply dropped",
}


def find(outbox: Outbox, text: str, offset: int, count: int) -> tuple[int, list[int]]:
    """How many messages hold the text in an address, the subject or the tag, and the numbers of
    one page of them, newest first."""
    wanted = text.strip().lower()

    def take_parcel(parcel: Parcel) -> bool | None:
        if not wanted:
            return True
        for column in (parcel.subject, parcel.tag):
            if isinstance(column, str) and wanted in column.lower():
                return True
        even = isinstance(parcel.subject, str) and isinstance(parcel.tag, str)
        if even and not parcel.more_recipients and not _any_has(parcel.recipients, wanted):
            return False
        return None

    def take(parcel: Parcel, number: int) -> bool:
        return (
            _any_has(parcel.all_recipients(number), wanted)
            or wanted in parcel.value(parcel.subject, number).lower()
            or wanted in parcel.value(parcel.tag, number).lower()
        )

    return page(outbox, take_parcel, take, offset, count)


def messages_page(sandbox: Sandbox, request: Request) -> Answer:
    """`GET /`: the list, newest first, and one message beside it."""
    text = request.query.get("q", "")
    offset = (_page_number(request.query.get("page", "1")) - 1) * PER_PAGE
    total, numbers = find(sandbox.outbox, text, offset, PER_PAGE)
    asked = sandbox.outbox.number_of(request.query.get("message", ""))
    chosen = asked if asked is not None else (numbers[0] if numbers else None)
    if sandbox.outbox.count == 0:
        content = EMPTY
    else:
        keep = {"q": text, "page": request.query.get("page", "")}
        content = fill(
            MAILBOX,
            open=" open" if asked is not None else "",
            text=text,
            list=_list(sandbox, numbers, chosen, keep)
            if numbers
            else fill('<p class="quiet">No message has “{text}” in it.</p>', text=text),
            pages=_pages(total, offset, len(numbers), keep),
            message=_message(sandbox, chosen, request.query.get("part", "html"), keep)
            if chosen is not None
            else Markup(""),
        )
    head = fill(
        HEAD,
        title=counted(sandbox.outbox.count, "message", "messages"),
        sentence=_sentence(sandbox),
    )
    return framed(sandbox, "Messages", joined([head, content]))


def mail_page(sandbox: Sandbox, message_id: str) -> Answer:
    """The HTML of one mail, as a response of its own with a policy of its own."""
    number = sandbox.outbox.number_of(message_id)
    if number is None:
        return plain(404, "This message is not in the inbox.")
    message = sandbox.outbox.message(number)
    html = _with_links_outside(body_of(message, "HtmlBody", sandbox.unsubscribe_url(message)))
    headers = {
        "Content-Security-Policy": MAIL_POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }
    return Answer(200, html.encode("utf-8", "replace"), HTML, headers)


def _with_links_outside(html: str) -> str:
    doctype = DOCTYPE.match(html)
    start = doctype.end() if doctype else 0
    return html[:start] + LINKS_OPEN_OUTSIDE + html[start:]


def _sentence(sandbox: Sandbox) -> Markup:
    counts = sandbox.outbox.counts()
    if not counts["accepted"]:
        return Markup("The inbox is empty. Nothing was sent yet.")
    letters = sum(n for s, n in counts["by_stream"].items() if sandbox.streams.is_broadcast(s))
    others = counts["accepted"] - letters
    kinds = [counted(letters, "letter", "letters")] if letters else []
    kinds += [counted(others, "transactional mail", "transactional mails")] if others else []
    twice = counts["readers_with_two_of_one_edition"]
    doubled = counts["deliveries_with_more_than_one_copy"]
    if twice or doubled:
        mark, glyph_class = "failed", "fault"
        found = counted(
            max(twice, doubled),
            "reader has two of one edition",
            "readers have two of one edition",
        )
    elif counts["distinct_deliveries"]:
        mark, glyph_class, found = "sent", "sent", "nobody has two of one edition"
    else:
        mark, glyph_class, found = "sent", "sent", "none of them names its delivery"
    sentences = f"{' and '.join(kinds)}; {found}."
    unnamed = counts["without_delivery_key"]
    if unnamed and counts["distinct_deliveries"]:
        verb = "does" if unnamed == 1 else "do"
        sentences += f" {unnamed:,} {verb} not name a delivery."
    untold = counts["accepted_without_telling"]
    if untold:
        verb = "was" if untold == 1 else "were"
        sentences += f" {untold:,} {verb} accepted without telling the caller."
    return fill("{glyph} {text}", glyph=glyph(mark, glyph_class), text=sentences)


def _list(sandbox: Sandbox, numbers: list[int], chosen: int | None, keep: dict[str, str]) -> Markup:
    rows = []
    for number in numbers:
        parcel = sandbox.outbox.parcel_of(number)
        recipients = parcel.all_recipients(number)
        message_id = sandbox.outbox.id_of(number)
        rows.append(
            fill(
                ROW,
                href=_link(keep, message=message_id),
                current=Markup(' aria-current="true"') if number == chosen else Markup(""),
                to=recipients[0] + (f" and {len(recipients) - 1} more" if recipients[1:] else ""),
                subject=parcel.value(parcel.subject, number) or "No subject",
                state=_state(sandbox, number, parcel),
                at=clock_text(parcel.at_ns),
            )
        )
    return fill('<ul class="rows">\n{rows}\n</ul>', rows=joined(rows))


def _state(sandbox: Sandbox, number: int, parcel: Parcel) -> Markup:
    happened = [h for h in sandbox.aftermath.of(number) if h.fate not in NOTHING_NEW]
    if happened:
        return stated(happened[-1])
    if parcel.reply:
        return state("unknown", "doubt", UNTOLD.get(parcel.reply, "Accepted, caller not told"))
    return state("sent", "sent", "Delivered")


def _pages(total: int, offset: int, shown: int, keep: dict[str, str]) -> Markup:
    if not shown:
        return Markup("")
    number = offset // PER_PAGE + 1
    turns = []
    if number > 1:
        newer = _link({"q": keep["q"]}, page=str(number - 1))
        turns.append(fill('<a href="{href}" rel="prev">Newer</a>', href=newer))
    if offset + shown < total:
        older = _link({"q": keep["q"]}, page=str(number + 1))
        turns.append(fill('<a href="{href}" rel="next">Older</a>', href=older))
    where = f"{offset + 1:,} to {offset + shown:,} of {total:,}"
    return fill(
        '<p class="pages"><span class="small quiet">{where}</span><span>{turns}</span></p>',
        where=where,
        turns=joined(turns),
    )


def _message(sandbox: Sandbox, number: int, part: str, keep: dict[str, str]) -> Markup:
    message = sandbox.outbox.message(number)
    item = message.item
    part = part if part in PARTS else "html"
    unsubscribe_url = sandbox.unsubscribe_url(message)
    facts = [
        ("To", item.get("To") or ", ".join(message.recipients)),
        ("From", item["From"]),
        ("Accepted", day_text(message.at_ns)),
        ("Stream, tag", ", ".join(filter(None, (message.stream, item.get("Tag"))))),
        ("Message-ID", fill('<span class="id">{id}</span>', id=_message_id(message))),
        ("Unsubscribe", _unsubscribe(sandbox, message, unsubscribe_url)),
        ("Copies", _copies(sandbox, message)),
    ]
    facts += [
        (h.word, f"{h.address}, {day_text(h.at_ns)}")
        for h in sandbox.aftermath.of(number)
        if h.fate is not Fate.ONE_CLICK
    ]
    if message.reply:
        facts.append(("Answer", UNTOLD.get(message.reply, "Accepted, caller not told")))
    tabs = [
        fill(
            '<a href="{href}"{current}>{label}</a>',
            href=_link(keep, message=message.id, part=name),
            current=Markup(' aria-current="true"') if name == part else Markup(""),
            label=label,
        )
        for name, label in PARTS.items()
    ]
    return fill(
        ARTICLE,
        back=_link(keep),
        subject=item.get("Subject") or "No subject",
        facts=joined([fill("<dt>{name}</dt><dd>{value}</dd>", name=n, value=v) for n, v in facts]),
        tabs=joined(tabs),
        part=events_part(sandbox, message)
        if part == "events"
        else _part(message, part, unsubscribe_url),
    )


def _part(message: Message, part: str, unsubscribe_url: str | None) -> Markup:
    if part == "html":
        if not message.item.get("HtmlBody"):
            return Markup('<p class="quiet">This message has no HTML part.</p>')
        return fill(
            '<div class="paper"><iframe title="The message as HTML" src="/message/{id}/html" '
            'sandbox="{may}"></iframe></div>',
            id=message.id,
            may=MAIL_SANDBOX,
        )
    if part == "text":
        text = body_of(message, "TextBody", unsubscribe_url)
        if not text:
            return Markup('<p class="quiet">This message has no text part.</p>')
        return fill('<pre class="raw">{text}</pre>', text=text)
    if part == "headers":
        rows = [
            fill('<dt>{name}</dt><dd class="id">{value}</dd>', name=name, value=value)
            for name, value in headers_of(message, unsubscribe_url)
        ]
        rows += [
            fill('<dt>Metadata {name}</dt><dd class="id">{value}</dd>', name=name, value=value)
            for name, value in message.metadata.items()
        ]
        return fill('<dl class="facts small headers">\n{rows}\n</dl>', rows=joined(rows))
    return fill('<pre class="raw">{text}</pre>', text=source(message, unsubscribe_url))


def _message_id(message: Message) -> str:
    return header(message, "Message-ID") or f"<{message.id}@mtasv.net>"


def _unsubscribe(sandbox: Sandbox, message: Message, unsubscribe_url: str | None) -> Markup:
    tried = [h for h in sandbox.aftermath.of(message.number) if h.fate is Fate.ONE_CLICK]
    if tried:
        return fill("one-click, tried: {result}", result=tried[-1].detail)
    if unsubscribe_url is not None:
        return fill('one-click, by Postmark: <a href="{url}">leave</a>', url=unsubscribe_url)
    field = header(message, "List-Unsubscribe")
    targets = [part.strip().strip("<>") for part in field.split(",")]
    web = next((t for t in targets if t.lower().startswith(("http:", "https:"))), None)
    if web is None:
        return Markup("by mail only" if field else "no header")
    return fill(
        '{how}: <a href="{url}" rel="noopener noreferrer" target="_blank">open its page</a>',
        how="one-click" if sandbox.offer_of(message).valid else "a link, not one-click",
        url=web,
    )


def _copies(sandbox: Sandbox, message: Message) -> Markup:
    delivery = message.metadata.get("delivery")
    if delivery is None:
        return Markup("not known: it names no delivery")
    copies = sandbox.outbox.copies_of(delivery)
    if copies == 1:
        return Markup("1")
    return fill('<span class="state fault">{glyph}{n}</span>', glyph=glyph("failed"), n=copies)


def _link(keep: dict[str, str], **more: str) -> str:
    query = urlencode({name: value for name, value in (keep | more).items() if value})
    return f"/?{query}" if query else "/"


def _page_number(text: str) -> int:
    return max(int(text), 1) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _any_has(addresses: list[str], wanted: str) -> bool:
    return any(wanted in address.lower() for address in addresses)


HEAD = """<header class="head"><h1>{title}</h1><p class="lede">{sentence}</p></header>"""
EMPTY = Markup("""<section class="sec" aria-labelledby="m"><header><h2 id="m">Messages</h2></header>
<div class="stack"><p>What is posted to <code>/email</code> or <code>/email/batch</code> at this
address is kept here, as Postmark would have sent it.</p>
<p class="acts"><a class="btn" href="/">Look again</a></p></div></section>""")
MAILBOX = """<section class="sec" aria-labelledby="m">
<header><h2 id="m">Messages</h2><p class="small quiet">Newest first</p></header>
<div class="mailbox{open}">
<div class="list"><form class="find" role="search" action="/"><div class="field">
<label for="q">Find</label>
<input id="q" name="q" type="search" value="{text}" placeholder="Address, subject or tag"></div>
<button class="btn">Find</button></form>
{list}
{pages}</div>
{message}
</div></section>"""
ROW = """<li><a href="{href}"{current}><span class="tight"><b>{to}</b><br>
<span class="quiet">{subject}</span><br>
<span class="small">{state} <span class="quiet">{at}</span></span></span></a></li>"""
ARTICLE = """<article class="stack" aria-labelledby="subject">
<p class="back small"><a href="{back}">All messages</a></p>
<h3 id="subject">{subject}</h3>
<dl class="facts small">
{facts}
</dl>
<div class="tabs" role="group" aria-label="Part">
{tabs}
</div>
{part}
</article>"""

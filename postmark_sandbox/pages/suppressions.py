"""The only place for the page of suppression lists: who is on them and why, add one, lift one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Answer, see_other
from postmark_sandbox.pages.frame import framed, glyph
from postmark_sandbox.pages.markup import Markup, counted, fill, joined
from postmark_sandbox.state.streams import Stream
from postmark_sandbox.state.suppressions import NO_AUTHORITY, Suppression, why_not_an_address
from postmark_sandbox.times import day_text

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

SHOWN = 200


def suppressions_page(
    sandbox: Sandbox, request: Request, wrong: str = "", given: dict[str, str] | None = None
) -> Answer:
    """`GET /suppressions`: the list of every stream that sends, newest first."""
    text = request.query.get("q", "").strip()
    streams = _sending(sandbox)
    total = sum(len(sandbox.suppressions.of(stream.id)) for stream in streams)
    given = given or {}
    content = fill(
        PAGE,
        title=counted(total, "address", "addresses") + " suppressed",
        sentence=_sentence(total),
        find=fill(FIND, text=text) if total else Markup(""),
        lists=joined([_list(sandbox, stream, text) for stream in streams]),
        error=fill('<p class="error" id="wrong" role="alert">{text}</p>', text=wrong)
        if wrong
        else Markup(""),
        address=given.get("address", ""),
        streams=joined([_option(stream, given.get("stream", "broadcast")) for stream in streams]),
    )
    return framed(sandbox, "Suppressions", content, 422 if wrong else 200)


def add_suppression(sandbox: Sandbox, request: Request) -> Answer:
    """`POST /suppressions`: the account puts an address on a list."""
    form = request.form()
    stream, address = _stream(sandbox, form), form.get("address", "").strip()
    if wrong := why_not_an_address(address):
        return suppressions_page(sandbox, request, wrong, form)
    sandbox.aftermath.suppress(stream, address, "ManualSuppression", "Customer")
    return see_other("/suppressions")


def lift_suppression(sandbox: Sandbox, request: Request) -> Answer:
    """`POST /suppressions/lift`: off the list, where Postmark would allow it."""
    form = request.form()
    stream, address = _stream(sandbox, form), form.get("address", "")
    held = sandbox.suppressions.of(stream).get(address.lower())
    if held is not None and not held.can_be_lifted():
        return suppressions_page(sandbox, request, f"{address}: {NO_AUTHORITY}")
    sandbox.aftermath.lift(stream, address)
    return see_other("/suppressions")


def _sending(sandbox: Sandbox) -> list[Stream]:
    return [stream for stream in sandbox.streams.all() if stream.type != "Inbound"]


def _stream(sandbox: Sandbox, form: dict[str, str]) -> str:
    return sandbox.streams.to_send(form.get("stream", "")).id


def _sentence(total: int) -> Markup:
    if not total:
        return Markup("Every address gets mail on every stream.")
    return fill(
        "{glyph} What is sent there on that stream is refused with ErrorCode 406.",
        glyph=glyph("attention", "doubt"),
    )


def _list(sandbox: Sandbox, stream: Stream, text: str) -> Markup:
    held = sandbox.suppressions.of(stream.id)
    newest = sorted(held.values(), key=lambda entry: entry.at_ns, reverse=True)
    found = (entry for entry in newest if text.lower() in entry.address)
    shown = list(islice(found, SHOWN))
    if shown:
        rows = joined([_row(stream, entry) for entry in shown])
        table = fill(TABLE, stream=stream.id, rows=rows)
    elif held:
        table = fill('<p class="quiet">No address has “{text}” in it.</p>', text=text)
    else:
        table = Markup('<p class="quiet">Nobody.</p>')
    return fill(
        SECTION,
        stream=stream.id,
        number=counted(len(held), "address", "addresses"),
        note=f"; the newest {SHOWN} are shown" if len(shown) == SHOWN < len(held) else "",
        table=table,
    )


def _row(stream: Stream, entry: Suppression) -> Markup:
    lift = (
        fill(LIFT, stream=stream.id, address=entry.address)
        if entry.can_be_lifted()
        else Markup('<span class="small quiet">stays</span>')
    )
    return fill(
        ROW,
        address=entry.address,
        reason=entry.reason,
        origin=entry.origin,
        since=day_text(entry.at_ns),
        lift=lift,
    )


def _option(stream: Stream, chosen: str) -> Markup:
    return fill(
        '<option value="{id}"{selected}>{id} ({type})</option>',
        id=stream.id,
        type=stream.type,
        selected=Markup(" selected") if stream.id == chosen else Markup(""),
    )


PAGE = """<header class="head"><h1>{title}</h1><p class="lede">{sentence}</p>{find}</header>
{lists}
<section class="sec" aria-labelledby="new"><header><h2 id="new">Another</h2>
<p class="small quiet">As the account does it: it can be lifted again</p></header>
<form class="stack" method="post" action="/suppressions">{error}
<div class="two">
<div class="field"><label for="address">Address</label>
<input id="address" name="address" type="email" value="{address}" autocomplete="off"></div>
<div class="field"><label for="stream">Stream</label>
<select id="stream" name="stream">
{streams}
</select></div></div>
<p class="acts"><button class="btn">Suppress this address</button></p></form></section>"""
FIND = """<form class="find seek" role="search" action="/suppressions"><div class="field">
<label for="q">Find</label>
<input id="q" name="q" type="search" value="{text}" placeholder="Part of an address"></div>
<button class="btn">Find</button></form>"""
SECTION = """<section class="sec" aria-labelledby="on-{stream}"><header>
<h2 id="on-{stream}">{stream}</h2><p class="small quiet">{number}{note}</p></header>
<div class="stack">{table}</div></section>"""
TABLE = """<div class="scroll" tabindex="0" role="region" aria-label="Suppressed on {stream}">
<table class="grid"><thead><tr><th scope="col">Address</th>
<th scope="col" class="wide-only">Reason</th><th scope="col" class="wide-only">Origin</th>
<th scope="col" class="wide-only">Since</th><th scope="col"><span class="hide">Lift</span></th></tr>
</thead><tbody>
{rows}
</tbody></table></div>"""
ROW = """<tr><th scope="row">{address}
<span class="narrow-only small quiet">{reason}, {origin}, since {since}</span></th>
<td class="wide-only">{reason}</td><td class="wide-only">{origin}</td>
<td class="nowrap wide-only">{since}</td><td class="num">{lift}</td></tr>"""
LIFT = """<form method="post" action="/suppressions/lift">
<input type="hidden" name="stream" value="{stream}">
<input type="hidden" name="address" value="{address}"><button class="btn mini">Lift</button>
</form>"""

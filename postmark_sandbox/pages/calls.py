"""The only place for the page of calls: what was asked lately, and what was answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postmark_sandbox.http.response import Answer
from postmark_sandbox.pages.frame import framed
from postmark_sandbox.pages.markup import Markup, counted, fill, joined
from postmark_sandbox.state.call_log import Call
from postmark_sandbox.times import clock_text

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

SHOWN = 200


def calls_page(sandbox: Sandbox) -> Answer:
    """`GET /calls`: the last calls, newest first."""
    calls = sandbox.calls.newest_first(SHOWN)
    total = sandbox.calls.count
    faulty = sum(sandbox.calls.counts()["by_fault"].values())
    verb = "was" if faulty == 1 else "were"
    if not total:
        sentence, table = "Nobody has called yet.", EMPTY
    else:
        sentence = f"{faulty:,} of them {verb} hit by a fault." if faulty else "None went wrong."
        table = fill(TABLE, rows=joined([_row(call) for call in calls]))
    content = fill(
        PAGE,
        title=counted(total, "call", "calls"),
        sentence=sentence,
        shown=f"The last {min(total, SHOWN)}, newest first" if total else "Newest first",
        table=table,
    )
    return framed(sandbox, "Calls", content)


def _row(call: Call) -> Markup:
    messages = f"{call.accepted:,} of {call.messages:,}" if call.messages else ""
    fault = call.fault.replace("_", " ")
    return fill(
        ROW,
        at=clock_text(call.at_ns),
        method=call.method,
        path=call.path,
        messages=messages,
        status=call.status or "none",
        look="fault" if call.status == 0 or call.status >= 400 else "",
        ms=f"{call.ms:,.0f} ms",
        fault=fault,
        narrow=", ".join(filter(None, (messages and f"{messages} accepted", fault))),
    )


EMPTY = Markup("""<div class="stack"><p class="lede">No call has come in.</p>
<p class="quiet">Calls to Postmark's paths appear here; this page and the control calls do not.</p>
</div>""")
PAGE = """<header class="head"><h1>{title}</h1><p class="lede">{sentence}</p></header>
<section class="sec" aria-labelledby="c"><header><h2 id="c">Calls</h2>
<p class="small quiet">{shown}</p></header>
{table}</section>"""
TABLE = """<div class="scroll" tabindex="0" role="region" aria-label="Calls"><table class="grid">
<thead><tr><th scope="col">Time</th><th scope="col">Call</th>
<th scope="col" class="num wide-only">Accepted</th><th scope="col" class="num">Status</th>
<th scope="col" class="num wide-only">Took</th><th scope="col" class="wide-only">Fault</th>
</tr></thead><tbody>
{rows}
</tbody></table></div>"""
ROW = """<tr><td class="nowrap">{at}</td><th scope="row">{method} {path}
<span class="narrow-only small quiet">{narrow}</span></th>
<td class="num wide-only">{messages}</td><td class="num {look}">{status}</td>
<td class="num wide-only">{ms}</td><td class="nowrap wide-only">{fault}</td></tr>"""

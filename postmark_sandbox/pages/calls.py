"""The page of calls."""

from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Response
from postmark_sandbox.pages import layout
from postmark_sandbox.pages.layout import (
    counted,
    framed,
    head,
    joined,
    section,
    table,
)
from postmark_sandbox.sandbox import Sandbox
from postmark_sandbox.state.call_log import LoggedCall
from postmark_sandbox.times import clock_text

render = layout.Templates("calls.html")
SHOWN = 200
COLUMNS = (
    ("Time", "nowrap"),
    ("Call", ""),
    ("Accepted", "num wide-only"),
    ("Status", "num"),
    ("Took", "num wide-only"),
    ("Fault", "nowrap wide-only"),
)


def show(sandbox: Sandbox, request: Request) -> Response:
    """`GET /calls`: the last calls, newest first."""
    total = sandbox.calls.count
    faulty = sum(sandbox.calls.counts()["by_fault"].values())
    if not total:
        sentence, note, content = "Nobody has called yet.", "Newest first", render("empty")
    else:
        verb = "was" if faulty == 1 else "were"
        sentence = f"{faulty:,} of them {verb} hit by a fault." if faulty else "None went wrong."
        note = f"The last {min(total, SHOWN)}, newest first"
        rows = [_row(call) for call in sandbox.calls.newest_first(SHOWN)]
        content = table("Calls", COLUMNS, rows, header=1)
    page = [head(counted(total, "call"), sentence), section("c", "Calls", note, content)]
    return framed(sandbox, "Calls", joined(page))


def _row(call: LoggedCall) -> list[object]:
    messages = f"{call.accepted:,} of {call.messages:,}" if call.messages else ""
    fault = call.fault.replace("_", " ")
    narrow = ", ".join(filter(None, (messages and f"{messages} accepted", fault)))
    failed = call.status == 0 or call.status >= 400
    return [
        clock_text(call.at_ns),
        render("call", method=call.method, path=call.path, narrow=narrow),
        messages,
        render("status", look="fault" if failed else "", status=call.status or "none"),
        f"{call.ms:,.0f} ms",
        fault,
    ]

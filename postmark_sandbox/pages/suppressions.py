"""The page of suppression lists: who is on them and why, add one, lift one."""

from itertools import islice
from typing import Any

from postmark_sandbox.http import Request, Response, see_other
from postmark_sandbox.pages.layout import page
from postmark_sandbox.rules.addresses import address_error
from postmark_sandbox.sandbox import Sandbox
from postmark_sandbox.state.suppressions import NO_AUTHORITY

SHOWN = 200


def show(
    sandbox: Sandbox, request: Request, error: str = "", form: dict[str, str] | None = None
) -> Response:
    """`GET /suppressions`: the list of every stream that sends, newest first."""
    text = request.query.get("q", "").strip()
    streams = [stream for stream in sandbox.streams.all() if stream.type != "Inbound"]
    return page(
        sandbox,
        "Suppressions",
        "suppressions.html",
        422 if error else 200,
        text=text,
        total=sum(len(sandbox.suppressions.of(stream.id)) for stream in streams),
        lists=[{"stream": stream} | _shown(sandbox, stream.id, text) for stream in streams],
        error=error,
        form={"stream": "broadcast"} | (form or {}),
    )


def add(sandbox: Sandbox, request: Request) -> Response:
    """`POST /suppressions`: the account puts an address on a list."""
    form = request.form()
    stream = sandbox.streams.to_send(form.get("stream", "")).id
    address = form.get("address", "").strip()
    if error := address_error(address):
        return show(sandbox, request, error, form)
    sandbox.events.suppress(stream, address, "ManualSuppression", "Customer")
    return see_other("/suppressions")


def lift(sandbox: Sandbox, request: Request) -> Response:
    """`POST /suppressions/lift`: off the list, where Postmark would allow it."""
    form = request.form()
    stream = sandbox.streams.to_send(form.get("stream", "")).id
    address = form.get("address", "")
    if sandbox.suppressions.blocks_lifting(stream, address):
        return show(sandbox, request, f"{address}: {NO_AUTHORITY}")
    sandbox.events.lift(stream, address)
    return see_other("/suppressions")


def _shown(sandbox: Sandbox, stream: str, text: str) -> dict[str, Any]:
    entries = sandbox.suppressions.of(stream).values()
    newest = sorted(entries, key=lambda entry: entry.at_ns, reverse=True)
    matching = (entry for entry in newest if text.lower() in entry.address)
    shown = list(islice(matching, SHOWN))
    return {"entries": shown, "count": len(newest), "is_cut": len(shown) == SHOWN < len(newest)}

"""The page of suppression lists: who is on them and why, add one, lift one."""

from itertools import islice

from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Response, see_other
from postmark_sandbox.pages import layout
from postmark_sandbox.pages.layout import NOTHING, Markup, counted, joined, quiet
from postmark_sandbox.rules.addresses import address_error
from postmark_sandbox.rules.streams import Stream
from postmark_sandbox.sandbox import Sandbox
from postmark_sandbox.state.suppressions import NO_AUTHORITY, Suppression
from postmark_sandbox.times import day_text

render = layout.Templates("suppressions.html")
SHOWN = 200
COLUMNS = (
    ("Address", ""),
    ("Reason", "wide-only"),
    ("Origin", "wide-only"),
    ("Since", "nowrap wide-only"),
    (Markup('<span class="hide">Lift</span>'), "num"),
)


def show(
    sandbox: Sandbox, request: Request, wrong: str = "", given: dict[str, str] | None = None
) -> Response:
    """`GET /suppressions`: the list of every stream that sends, newest first."""
    given, text = given or {}, request.query.get("q", "").strip()
    streams = [stream for stream in sandbox.streams.all() if stream.type != "Inbound"]
    total = sum(len(sandbox.suppressions.of(stream.id)) for stream in streams)
    sentence = Markup("Every address gets mail on every stream.")
    if total:
        refused = "What is sent there on that stream is refused with ErrorCode 406."
        sentence = layout.with_glyph("attention", "doubt", refused)
    title = counted(total, "address", "addresses") + " suppressed"
    form = render(
        "form",
        error=layout.error_note(wrong),
        address=given.get("address", ""),
        streams=layout.options(
            {stream.id: f"{stream.id} ({stream.type})" for stream in streams},
            given.get("stream", "broadcast"),
        ),
    )
    page = [
        layout.head(title, sentence, render("find", text=text) if total else NOTHING),
        *(_list(sandbox, stream, text) for stream in streams),
        layout.section("new", "Another", "As the account does it: it can be lifted again", form),
    ]
    return layout.framed(sandbox, "Suppressions", joined(page), 422 if wrong else 200)


def add(sandbox: Sandbox, request: Request) -> Response:
    """`POST /suppressions`: the account puts an address on a list."""
    form = request.form()
    stream = sandbox.streams.to_send(form.get("stream", "")).id
    address = form.get("address", "").strip()
    if wrong := address_error(address):
        return show(sandbox, request, wrong, form)
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


def _list(sandbox: Sandbox, stream: Stream, text: str) -> Markup:
    held = sandbox.suppressions.of(stream.id)
    newest = sorted(held.values(), key=lambda entry: entry.at_ns, reverse=True)
    shown = list(islice((entry for entry in newest if text.lower() in entry.address), SHOWN))
    content = quiet(f"No address has “{text}” in it." if held else "Nobody.")
    if shown:
        rows = [_row(stream, entry) for entry in shown]
        content = layout.table(f"Suppressed on {stream.id}", COLUMNS, rows)
    note = counted(len(held), "address", "addresses")
    if len(shown) == SHOWN < len(held):
        note += f"; the newest {SHOWN} are shown"
    return layout.section(f"on-{stream.id}", stream.id, note, render("stack", content=content))


def _row(stream: Stream, entry: Suppression) -> list[object]:
    since = day_text(entry.at_ns)
    narrow = f"{entry.reason}, {entry.origin}, since {since}"
    button = render("lift", stream=stream.id, address=entry.address)
    return [
        render("address", address=entry.address, narrow=narrow),
        entry.reason,
        entry.origin,
        since,
        button if entry.can_be_lifted() else Markup('<span class="small quiet">stays</span>'),
    ]

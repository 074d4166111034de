"""The page of faults: those in force, those that are done, and a form."""

from postmark_sandbox.faults.fault_rules import (
    EVERY_EVENT,
    FAULT_KINDS,
    FaultError,
    FaultPoint,
    FaultRule,
)
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Response, see_other
from postmark_sandbox.pages import layout
from postmark_sandbox.pages.layout import NOTHING, Markup, counted, joined, quiet
from postmark_sandbox.sandbox import Sandbox

render = layout.Templates("faults.html")
# The form's fields, in order: name, label, hint, initial value.
FIELDS = (
    ("calls", "For how many calls or events", "(empty: for every one)", "1"),
    ("probability", "Chance", "(0 to 1; empty: always)", ""),
    ("seed", "Seed", "(the same seed, the same faults)", "1789"),
    ("recipient", "Only with this recipient", "", ""),
    ("path", "Only for this path", "(or, for webhooks, this type of event)", ""),
    ("seconds", "Seconds", "(for slow, stalled and late)", ""),
    ("k", "k", "(the first k, k more, k in another order)", ""),
    ("code", "ErrorCode", "(for refusals)", ""),
    ("retry_after", "Retry-After", "(for 429, in seconds)", ""),
)
COLUMNS = (
    ("Fault", ""),
    ("When", "wide-only"),
    ("So far", "nowrap wide-only"),
    (Markup('<span class="hide">Clear</span>'), "num"),
)


def show(
    sandbox: Sandbox, request: Request, wrong: str = "", given: dict[str, str] | None = None
) -> Response:
    """`GET /faults`."""
    rules = sandbox.faults.all()
    live = [rule for rule in rules if not rule.spent]
    spent = [rule for rule in rules if rule.spent]
    title = counted(len(live), "fault") + " in force" if live else "No fault in force"
    buttons = joined([_release_buttons(sandbox), _hurry_button(sandbox)])
    page = [layout.head(title, _sentence(sandbox, live), buttons)]
    listed = _table("Faults in force", live) if live else quiet("None. Set one below.")
    clear = render("clear") if live and not spent else NOTHING
    note = "Of those for calls, the first that fits wins"
    page.append(layout.section("now", "In force", note, render("stack", rules=listed, clear=clear)))
    if spent:
        listed = render("stack", rules=_table("Faults that are done", spent), clear=render("clear"))
        page.append(layout.section("done", "Done", "They hit no call any more", listed))
    form = render(
        "form",
        error=layout.error_note(wrong),
        kinds=layout.options(
            {name: kind.label for name, kind in FAULT_KINDS.items()}, (given or {}).get("kind", "")
        ),
        fields=joined(
            render(
                "field",
                name=name,
                label=label,
                hint=hint,
                value=(given or {name: first}).get(name, ""),
            )
            for name, label, hint, first in FIELDS
        ),
    )
    page.append(layout.section("new", "Another", "For the next calls or events", form))
    return layout.framed(sandbox, "Faults", joined(page), 422 if wrong else 200)


def add(sandbox: Sandbox, request: Request) -> Response:
    """`POST /faults`: back to the page, or the page with what is wrong and what was typed."""
    form = request.form()
    data: dict[str, object] = {"kind": form.get("kind", ""), "calls": None}
    for name, *_ in FIELDS:
        if text := form.get(name, "").strip():
            data[name] = text
    try:
        sandbox.faults.set(data)
    except FaultError as wrong:
        return show(sandbox, request, str(wrong), form)
    return see_other("/faults")


def clear(sandbox: Sandbox, request: Request) -> Response:
    """`POST /faults/clear`: one fault, or all of them."""
    number = request.form().get("id", "")
    sandbox.faults.clear(int(number) if number.isascii() and number.isdigit() else None)
    return see_other("/faults")


def release(sandbox: Sandbox, request: Request) -> Response:
    """`POST /faults/release`: release the calls that are held."""
    sandbox.gate.release("close" if request.form().get("outcome") == "close" else "answer")
    return see_other("/faults")


def hurry(sandbox: Sandbox, request: Request) -> Response:
    """`POST /faults/hurry`: what is late happens now."""
    sandbox.hurry()
    return see_other("/faults")


def _sentence(sandbox: Sandbox, live: list[FaultRule]) -> Markup:
    if held := sandbox.gate.held:
        calls = counted(held, "call is", "calls are")
        return layout.with_glyph("unknown", "doubt", f"{calls} being held until you release them.")
    if not live:
        return Markup("Every call is answered as it should be.")
    first = FAULT_KINDS[live[0].kind].label
    more = "" if len(live) == 1 else f", and {counted(len(live) - 1, 'other')}"
    text = f"On request, something goes wrong: {first[0].lower()}{first[1:]}{more}."
    return layout.with_glyph("attention", "doubt", text)


def _table(label: str, rules: list[FaultRule]) -> Markup:
    rows = []
    for rule in rules:
        when, fired = _when(rule), f"hit {rule.fired:,} of {rule.watched:,}"
        narrow = f"{when}; {fired}"
        name = render("name", label=FAULT_KINDS[rule.kind].label, kind=rule.kind, narrow=narrow)
        rows.append([name, when, fired, render("clear_one", id=rule.id)])
    return layout.table(label, COLUMNS, rows)


def _when(rule: FaultRule) -> str:
    words = []
    one = "event" if FAULT_KINDS[rule.kind].moment is FaultPoint.EVENT else "call"
    if rule.nth is not None:
        words.append(f"{one} number {rule.nth}")
    elif rule.every is not None:
        words.append(f"every {rule.every}. {one}")
    if rule.probability is not None:
        words.append(f"chance {rule.probability:g}, seed {rule.seed}")
    if rule.calls is not None:
        words.append(f"{counted(rule.calls, one)} at most")
    elif not words:
        words.append(f"every {one}")
    words += [f"{name} {value}" for name, value in rule.settings.items() if value not in (None, "")]
    if rule.recipient:
        words.append(f"to {rule.recipient}")
    if rule.paths != EVERY_EVENT:
        words.append(" and ".join(rule.paths))
    return "; ".join(words)


def _release_buttons(sandbox: Sandbox) -> Markup:
    held = sandbox.gate.held
    return render("release", number=counted(held, "call")) if held else NOTHING


def _hurry_button(sandbox: Sandbox) -> Markup:
    waiting = {"webhook": sandbox.webhooks.waiting, "suppression": sandbox.delayed.waiting}
    late = [counted(number, what) for what, number in waiting.items() if number]
    return render("hurry", number=" and ".join(late)) if late else NOTHING

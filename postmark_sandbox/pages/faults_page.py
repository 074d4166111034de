"""Page of faults: active rules, used-up rules, and a form."""

from postmark_sandbox.faults.fault_rules import EVERY_EVENT, FAULT_KINDS, FaultPoint, FaultRule
from postmark_sandbox.http import Request, Response, see_other
from postmark_sandbox.pages.layout import counted, page
from postmark_sandbox.sandbox_state import Sandbox

# The form's fields, in order: name, label, hint, initial value.
FIELDS = (
    ("calls", "For how many calls or events", "(empty: no limit)", "1"),
    ("probability", "Chance", "(0 to 1; empty: always)", ""),
    ("seed", "Seed", "(the same seed gives the same faults)", "1789"),
    ("recipient", "Only for this recipient", "", ""),
    ("path", "Only for this path", "(for webhooks: event type)", ""),
    ("seconds", "Seconds", "(for slow, stall and late faults)", ""),
    ("k", "k", "(how many messages, repeats or events)", ""),
    ("code", "ErrorCode", "(for refusals)", ""),
    ("retry_after", "Retry-After", "(for 429, in seconds)", ""),
)


def show(
    sandbox: Sandbox, request: Request, error: str = "", form: dict[str, str] | None = None
) -> Response:
    """Handle `GET /faults`."""
    rules = sorted(sandbox.faults.all(), key=lambda rule: rule.spent)
    values = form or {name: initial for name, _, _, initial in FIELDS}
    return page(
        sandbox,
        "Faults",
        "faults.html",
        422 if error else 200,
        held=sandbox.gate.held,
        late=sandbox.webhooks.waiting,
        rules=[(rule, FAULT_KINDS[rule.kind].label, _when(rule)) for rule in rules],
        live=sum(not rule.spent for rule in rules),
        error=error,
        kinds={name: kind.label for name, kind in FAULT_KINDS.items()},
        chosen=values.get("kind", ""),
        fields=[(name, label, hint, values.get(name, "")) for name, label, hint, _ in FIELDS],
    )


def add(sandbox: Sandbox, request: Request) -> Response:
    """Handle `POST /faults`: redirect to the page, or show the error and the input."""
    form = request.form()
    data: dict[str, object] = {"kind": form.get("kind", ""), "calls": None}
    for name, *_ in FIELDS:
        if text := form.get(name, "").strip():
            data[name] = text
    try:
        sandbox.faults.set(data)
    except ValueError as wrong:
        return show(sandbox, request, str(wrong), form)
    return see_other("/faults")


def change(sandbox: Sandbox, request: Request) -> Response:
    """Handle `POST /faults/clear`, `/release` and `/hurry`."""
    form = request.form()
    match request.path.rpartition("/")[2]:
        case "clear":
            number = form.get("id", "")
            sandbox.faults.clear(int(number) if number.isascii() and number.isdigit() else None)
        case "release":
            sandbox.gate.release("close" if form.get("outcome") == "close" else "answer")
        case "hurry":
            sandbox.webhooks.hurry()
    return see_other("/faults")


def _when(rule: FaultRule) -> str:
    words = []
    one = "event" if FAULT_KINDS[rule.kind].point is FaultPoint.EVENT else "call"
    if rule.nth is not None:
        words.append(f"{one} number {rule.nth}")
    elif rule.every is not None:
        words.append(f"one in {rule.every} {one}s")
    if rule.probability is not None:
        words.append(f"chance {rule.probability:g}, seed {rule.seed}")
    if rule.calls is not None:
        words.append(f"at most {counted(rule.calls, one)}")
    elif not words:
        words.append(f"every {one}")
    words += [f"{name} {value}" for name, value in rule.settings.items() if value not in (None, "")]
    if rule.recipient:
        words.append(f"to {rule.recipient}")
    if rule.paths != EVERY_EVENT:
        words.append(" and ".join(rule.paths))
    return "; ".join(words)

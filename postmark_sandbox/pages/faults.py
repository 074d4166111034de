"""The only place for the page of faults: those in force, those that are done, and a form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from postmark_sandbox.faults.fault_rules import EVERY_EVENT, KINDS, BadFault, Moment, Rule
from postmark_sandbox.http.request import Request
from postmark_sandbox.http.response import Answer, see_other
from postmark_sandbox.pages.frame import framed, glyph
from postmark_sandbox.pages.markup import Markup, counted, fill, joined

if TYPE_CHECKING:
    from postmark_sandbox.sandbox import Sandbox

# The form's fields, in order: name, label, a word about it, what stands in it at first.
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


def faults_page(sandbox: Sandbox, wrong: str = "", given: dict[str, str] | None = None) -> Answer:
    """`GET /faults`."""
    rules = sandbox.faults.all()
    live = [rule for rule in rules if not rule.spent()]
    spent = [rule for rule in rules if rule.spent()]
    held = sandbox.gate.held
    content = fill(
        PAGE,
        title=counted(len(live), "fault", "faults") + " in force" if live else "No fault in force",
        sentence=_sentence(live, held),
        rules=_rules(live, "Faults in force")
        if live
        else Markup('<p class="quiet">None. Set one below.</p>'),
        clear=CLEAR if live and not spent else Markup(""),
        done=fill(DONE, rules=_rules(spent, "Faults that are done"), clear=CLEAR)
        if spent
        else Markup(""),
        release=joined([_release(held), _hurry(sandbox)]),
        error=fill('<p class="error" id="wrong" role="alert">{text}</p>', text=wrong)
        if wrong
        else Markup(""),
        kinds=_kinds((given or {}).get("kind", "")),
        fields=joined(
            [
                fill(
                    FIELD,
                    name=name,
                    label=label,
                    hint=hint,
                    value=value if given is None else given.get(name, ""),
                )
                for name, label, hint, value in FIELDS
            ]
        ),
    )
    return framed(sandbox, "Faults", content, 422 if wrong else 200)


def set_fault(sandbox: Sandbox, request: Request) -> Answer:
    """`POST /faults`: back to the page, or the page with what is wrong and what was typed."""
    form = request.form()
    data: dict[str, object] = {"kind": form.get("kind", ""), "calls": None}
    for name, *_ in FIELDS:
        if text := form.get(name, "").strip():
            data[name] = text
    try:
        sandbox.faults.set(data)
    except BadFault as wrong:
        return faults_page(sandbox, str(wrong), form)
    return see_other("/faults")


def clear_faults(sandbox: Sandbox, request: Request) -> Answer:
    """`POST /faults/clear`: one fault, or all of them."""
    number = request.form().get("id", "")
    sandbox.faults.clear(int(number) if number.isascii() and number.isdigit() else None)
    return see_other("/faults")


def release(sandbox: Sandbox, request: Request) -> Answer:
    """`POST /faults/release`: lets go of the calls that are held."""
    sandbox.gate.release("close" if request.form().get("outcome") == "close" else "answer")
    return see_other("/faults")


def hurry(sandbox: Sandbox) -> Answer:
    """`POST /faults/hurry`: what is late happens now."""
    sandbox.hurry()
    return see_other("/faults")


def _sentence(live: list[Rule], held: int) -> Markup:
    if held:
        text = f"{counted(held, 'call is', 'calls are')} being held until you release them."
        return fill("{glyph} {text}", glyph=glyph("unknown", "doubt"), text=text)
    if not live:
        return Markup("Every call is answered as it should be.")
    first = KINDS[live[0].kind].label
    more = "" if len(live) == 1 else f", and {counted(len(live) - 1, 'other', 'others')}"
    text = f"On request, something goes wrong: {first[0].lower()}{first[1:]}{more}."
    return fill("{glyph} {text}", glyph=glyph("attention", "doubt"), text=text)


def _rules(rules: list[Rule], label: str) -> Markup:
    rows = [
        fill(
            RULE,
            label=KINDS[rule.kind].label,
            kind=rule.kind,
            when=_when(rule),
            fired=f"hit {rule.fired:,} of {rule.watched:,}",
            id=rule.id,
        )
        for rule in rules
    ]
    return fill(RULES, label=label, rows=joined(rows))


def _when(rule: Rule) -> str:
    words = []
    of_events = KINDS[rule.kind].moment is Moment.EVENT
    one, many = ("event", "events") if of_events else ("call", "calls")
    if rule.nth is not None:
        words.append(f"{one} number {rule.nth}")
    elif rule.every is not None:
        words.append(f"every {rule.every}. {one}")
    if rule.probability is not None:
        words.append(f"chance {rule.probability:g}, seed {rule.seed}")
    if rule.calls is not None:
        words.append(f"{counted(rule.calls, one, many)} at most")
    elif not words:
        words.append(f"every {one}")
    words += [f"{name} {value}" for name, value in rule.settings.items() if value not in (None, "")]
    if rule.recipient:
        words.append(f"to {rule.recipient}")
    if rule.paths != EVERY_EVENT:
        words.append(" and ".join(rule.paths))
    return "; ".join(words)


def _release(held: int) -> Markup:
    if not held:
        return Markup("")
    return fill(RELEASE, number=counted(held, "call", "calls"))


def _hurry(sandbox: Sandbox) -> Markup:
    webhooks, changes = sandbox.webhooks.waiting, sandbox.later.waiting
    late = [counted(webhooks, "webhook", "webhooks")] if webhooks else []
    late += [counted(changes, "suppression", "suppressions")] if changes else []
    return fill(HURRY, number=" and ".join(late)) if late else Markup("")


def _kinds(chosen: str) -> Markup:
    return joined(
        [
            fill(
                '<option value="{name}"{selected}>{label}</option>',
                name=name,
                selected=Markup(" selected") if name == chosen else Markup(""),
                label=kind.label,
            )
            for name, kind in KINDS.items()
        ]
    )


PAGE = """<header class="head"><h1>{title}</h1><p class="lede">{sentence}</p>{release}</header>
<section class="sec" aria-labelledby="now"><header><h2 id="now">In force</h2>
<p class="small quiet">Of those for calls, the first that fits wins</p></header>
<div class="stack">{rules}{clear}</div></section>
{done}<section class="sec" aria-labelledby="new"><header><h2 id="new">Another</h2>
<p class="small quiet">For the next calls or events</p></header>
<form class="stack" method="post" action="/faults">{error}
<div class="two">
<div class="field"><label for="kind">What goes wrong</label>
<select id="kind" name="kind">
{kinds}
</select></div>
{fields}</div>
<p class="acts"><button class="btn">Set this fault</button>
<a class="btn risk" href="/empty">Empty the inbox…</a></p></form></section>"""
FIELD = """<div class="field"><label for="{name}">{label} <span class="quiet">{hint}</span></label>
<input id="{name}" name="{name}" value="{value}" autocomplete="off"></div>"""
DONE = """<section class="sec" aria-labelledby="done"><header><h2 id="done">Done</h2>
<p class="small quiet">They hit no call any more</p></header>
<div class="stack">{rules}{clear}</div></section>
"""
RULES = """<div class="scroll" tabindex="0" role="region" aria-label="{label}">
<table class="grid"><thead><tr><th scope="col">Fault</th>
<th scope="col" class="wide-only">When</th><th scope="col" class="wide-only">So far</th>
<th scope="col"><span class="hide">Clear</span></th></tr></thead>
<tbody>
{rows}
</tbody></table></div>"""
CLEAR = Markup("""
<form method="post" action="/faults/clear"><button class="btn">Clear all faults</button></form>""")
RULE = """<tr><th scope="row">{label}<br><code class="small quiet">{kind}</code>
<span class="narrow-only small quiet">{when}; {fired}</span></th>
<td class="wide-only">{when}</td><td class="nowrap wide-only">{fired}</td>
<td class="num"><form method="post" action="/faults/clear">
<input type="hidden" name="id" value="{id}"><button class="btn mini">Clear</button></form>
</td></tr>"""
HURRY = """<form class="acts" method="post" action="/faults/hurry">
<button class="btn">Let {number} happen now</button></form>"""
RELEASE = """<form class="acts" method="post" action="/faults/release">
<button class="btn" name="outcome" value="answer">Answer {number}</button>
<button class="btn risk" name="outcome" value="close">Hang up on {number}</button></form>"""

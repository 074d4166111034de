"""Accessibility checks: screen reader, keyboard, dark scheme, phone."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from axe_playwright_python.base import AXE_SCRIPT
from django.utils.translation import get_language_info
from playwright.sync_api import Page, ViewportSize, expect

# Run all rules of axe: WCAG 2.2 A and AA, and axe's own best practices. axe must not load style
# sheets again: it would add an inline style for each import, and the page's policy refuses inline
# styles.
RUN_AXE = """async colours => {
  await new Promise(requestAnimationFrame);
  const changes = document.getAnimations().filter(one => one instanceof CSSTransition);
  await Promise.allSettled(changes.map(one => one.finished));
  const rules = { "color-contrast": { enabled: colours } };
  const { violations } = await axe.run({ preload: false, resultTypes: ["violations"], rules });
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(node => `${id} (${impact}): ${node.html.slice(0, 200)}`));
}"""
DESKTOP = ViewportSize(width=1280, height=720)
NARROWEST = ViewportSize(width=320, height=640)
# Texts that cannot be broken into lines, and an address of the maximum length.
LONGEST = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
LONGEST_ADDRESS = f"{'w' * 64}@{'posthouse' * 6}.{'x' * 60}.{'y' * 60}.example.org"
# A toolbar is one tab stop, and the arrow keys lead on.
FOCUSABLE = (
    ":is(a[href], button, input:not([type=hidden], [tabindex='-1']), textarea, select, summary, "
    "[tabindex='0']):not([role=toolbar] [tabindex='-1'])"
)
# If a dialog is open, only its controls are tab stops. A group of radio buttons is one tab stop.
# The numbers are kept outside the elements, because a page that updates itself would remove them
# from attributes.
NUMBER_THE_CONTROLS = """elements => {
  window.numbers = new WeakMap();
  const within = document.querySelector("dialog:modal") ?? document;
  const isStop = (e, i, all) => e.type !== "radio" || e.checked ||
    !all.some((o, j) => o !== e && o.name === e.name && o.form === e.form && (o.checked || j < i));
  return elements.filter(e => within.contains(e) && e.checkVisibility() && !e.disabled)
    .filter(isStop).map((e, n) => { window.numbers.set(e, n); return e.outerHTML.slice(0, 120) });
}"""
IDS_TWICE = """() => {
  const ids = Array.from(document.querySelectorAll("[id]"), element => element.id);
  return ids.filter((id, place) => ids.indexOf(id) !== place);
}"""
# Collect the controls that get the focus and show this visibly.
RECORD_STOPS = """() => {
  window.stops = new Set();
  document.addEventListener("focusin", ({ target }) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(target);
    if (outlineStyle !== "none" && outlineWidth !== "0px") window.stops.add(numbers.get(target));
  });
  document.activeElement.blur();
}"""
# Parts of a page that differ in every answer, or that only scripts use.
VOLATILE = re.compile(
    r'name="(?:csrfmiddlewaretoken|shown|key)" value="[^"]*|\b\d\d:\d\d:\d\d\b'
    r"|<script[^>]*></script>|<noscript>.*?</noscript>|<button[^>]*data-copy=[^>]*>",
    re.DOTALL,
)


def _nothing(_page: Page) -> None:
    """Do nothing before the check."""


@dataclass(frozen=True)
class Shown:
    """A page: its URL, an action before the check, and its heading."""

    address: str
    done: Callable[[Page], object] = _nothing
    heading: str = ""

    def visit(self, page: Page) -> None:
        page.unroute_all()
        page.goto(self.address)
        self.done(page)
        expect(page.get_by_role("heading", level=1)).to_contain_text([self.heading])
        page.wait_for_load_state()


Pages = Mapping[str, Shown]


def faults_found_by_axe(page: Page, *, colours: bool = True) -> list[str]:
    """List each fault with its rule, its impact and the element."""
    page.wait_for_load_state()
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[str] = page.evaluate(RUN_AXE, colours)
    return found


def scrolls_sideways(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


def out_of_reach_of_the_keyboard(page: Page) -> list[str]:
    """List visible controls that Tab does not reach or that show no focus."""
    controls: list[str] = page.locator(FOCUSABLE).evaluate_all(NUMBER_THE_CONTROLS)
    page.evaluate(RECORD_STOPS)
    # Press Tab more often than there are controls, because frames have tab stops of their own. A
    # preview that loads again has two frames for a moment.
    for _ in range(len(controls) + 40):
        page.keyboard.press("Tab")
    stops = set(page.evaluate("[...window.stops]"))
    return [control for number, control in enumerate(controls) if number not in stops]


def faults_of(page: Page) -> dict[str, object]:
    """Check a page in both schemes, on a desktop and a small phone, by keyboard."""
    found: dict[str, object] = {"ids twice": page.evaluate(IDS_TWICE)}
    found["axe, light"] = faults_found_by_axe(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(NARROWEST)
    found["axe, dark, on a phone"] = faults_found_by_axe(page)
    found["wider than a phone"] = scrolls_sideways(page)
    found["out of reach of the keyboard"] = out_of_reach_of_the_keyboard(page)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESKTOP)
    return {what: faults for what, faults in found.items() if faults}


def faults_in_language(page: Page, code: str) -> dict[str, object]:
    """Check a page in a narrow window, except colours, which the English check covers."""
    expected = [code, "rtl" if get_language_info(code)["bidi"] else "ltr"]
    language = page.evaluate("[document.documentElement.lang, document.documentElement.dir]")
    found = {
        "axe": faults_found_by_axe(page, colours=False),
        "wider than a phone": scrolls_sideways(page),
        "language and direction": language if language != expected else None,
    }
    return {f"{what}, {code}": faults for what, faults in found.items() if faults}


def content(page: Page) -> str:
    """Return the document without parts that vary or that only scripts use."""
    return VOLATILE.sub("", page.content())

"""What every page has to be: usable by ear, by keyboard, on a phone, without scripts."""

from __future__ import annotations

import re

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# The rules of WCAG 2.2 A and AA, and axe's own best practices, all of them.
# It is not to fetch style sheets again: of one that imports another it makes an inline style, which
# the content security policy refuses.
AXE = {"preload": False}
NARROWEST = {"width": 320, "height": 640}
FOCUSABLE = (
    "a[href], button, input:not([type=hidden]):not([tabindex='-1']), textarea, select, summary, "
    "[tabindex='0']"
)
TOKEN = re.compile(r'(name="csrfmiddlewaretoken" value=")[^"]*')
SEALED_MOMENT = re.compile(r'(name="shown" value=")[^"]*')


def faults_found_by_axe(page: Page) -> list[str]:
    """Each fault with the rule, how grave it is, and the element; empty if there is none."""
    page.wait_for_load_state()
    found = Axe().run(page, options=AXE).response["violations"]
    return [
        f"{fault['id']} ({fault['impact']}): {node['html'][:200]}"
        for fault in found
        for node in fault["nodes"]
    ]


def scrolls_sideways(page: Page) -> bool:
    """Whether something is wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


def out_of_reach_of_the_keyboard(page: Page, *, in_frames: int = 0) -> list[str]:
    """
    The visible controls that Tab does not come to, or that do not show that it has.

    On the way it may stop so often within frames.
    """
    page.wait_for_load_state()
    wanted = page.locator(FOCUSABLE).evaluate_all(
        """elements => elements.filter(e => e.checkVisibility() && !e.disabled)
               .map((e, n) => { e.dataset.stop = n; return e.outerHTML.slice(0, 120) })"""
    )
    reached: set[int] = set()
    page.evaluate("document.activeElement.blur()")
    for _ in range(len(wanted) + 2 + in_frames):
        page.keyboard.press("Tab")
        stop, is_shown = page.evaluate(
            """(() => { const e = document.activeElement, s = getComputedStyle(e);
                return [e.dataset.stop ?? '', s.outlineStyle !== 'none' && s.outlineWidth !== '0px']
            })()"""
        )
        if stop and is_shown:
            reached.add(int(stop))
    return [control for number, control in enumerate(wanted) if number not in reached]


def content_without_tokens(page: Page) -> str:
    """
    The document as it stands, without what differs from one answer to the next by nature.

    It is awaited whole: what a click led to may be looked at while its end is still on the way.
    """
    page.wait_for_load_state()
    return SEALED_MOMENT.sub(r"\1", TOKEN.sub(r"\1", page.content()))

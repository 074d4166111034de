"""
A letter's HTML with its look written into its elements, where every mail program finds it.

Gmail forgets a style sheet when a mail is forwarded, Outlook reads half of one. Only what no
element can say of itself stays in the head of the mail (templates/mail/letter.html): dark colours,
and what a phone does otherwise.
"""

from __future__ import annotations

import re
from contextlib import suppress

import css_inline
from django.template.loader import render_to_string

from delivery.mail.field_placeholders import FieldPlaceholders
from delivery.mail.normalise_html import normalise

# Nothing is fetched while an issue is published, and an author's own rules for phones and dark mode
# stay where they are.
_INLINER = css_inline.CSSInliner(
    load_remote_stylesheets=False, keep_style_tags=True, keep_at_rules=True, minify_css=True
)
# A letter that is longer than this is in no inbox whole; it is not made longer still.
MAX_LENGTH = 2_000_000
# The most work allowed to inline an author's own style sheet: about a second and 20 MB. A sheet of
# 50 kB in a letter of 2,000 tags stays below it.
MAX_WORK = 20_000_000
_STYLE = re.compile(r"<style\b([^<]*+)")
_DECLARATION = re.compile(r"(?<![^\s{};:])([^\s{};:]++)\s*+:[^{};]*+")

# In what an inliner has written, attributes stand in double quotes.
_TAG = re.compile(r"""<!--.*?-->|<[a-zA-Z](?:[^>"]|"[^"]*+")*+>""", re.DOTALL)


def inline_styles(fragment: str) -> str:
    """
    The fragment well-formed, and styled by `templates/mail/letter.css`; an author's style wins.

    Every word and every merge field of it is there as it was.
    """
    stand_ins = FieldPlaceholders(fragment)
    plain, sheet = normalise(stand_ins.text), render_to_string("mail/letter.css")
    made = ""
    if _work_of(plain) <= MAX_WORK:
        with suppress(css_inline.InlineError):
            made = _INLINER.inline_fragment(plain, sheet)
    if not made or len(made) > MAX_LENGTH:
        made = f"<style>{sheet}</style>{plain}"
    quoted = _TAG.sub(lambda tag: stand_ins.restore(tag[0], _in_quotes), made)
    return stand_ins.restore(quoted)


def _work_of(plain: str) -> int:
    """
    The most that inlining the style sheets of a sound letter writes, in characters.

    Each rule may match each tag, each declaration is compared with all others of its tag, and
    `~` tries each tag against all tags before it.
    """
    tags, longest, declarations, siblings = plain.count("<"), dict[str, int](), 0, 0
    for sheet in _STYLE.findall(plain):
        siblings += sheet.count("~")
        for found in _DECLARATION.finditer(sheet):
            declarations += 1
            longest[found[1]] = max(longest.get(found[1], 0), len(found[0]))
    written = sum(longest.values())
    return tags * (written + declarations * len(longest) // 10 + siblings * tags // 3)


def _in_quotes(field: str) -> str:
    return field.replace('"', "&quot;")

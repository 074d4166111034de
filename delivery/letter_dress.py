"""
A letter's HTML with its look written into its elements, where every mail program finds it.

Gmail forgets a style sheet when a mail is forwarded, Outlook reads half of one. Only what no
element can say of itself stays in the head of the mail (templates/mail/letter.html): dark colours,
and what a phone does otherwise.
"""

from __future__ import annotations

import re

import css_inline
from django.template.loader import render_to_string

from delivery.sound_html import sound
from delivery.stand_ins import StandIns

# Nothing is fetched while an issue is published, and an author's own rules for phones and dark mode
# stay where they are.
_INLINER = css_inline.CSSInliner(
    load_remote_stylesheets=False, keep_style_tags=True, keep_at_rules=True, minify_css=True
)
# A letter that is longer than this is in no inbox whole; it is not made longer still.
LONGEST = 2_000_000

# In what an inliner has written, attributes stand in double quotes.
_TAG = re.compile(r"""<!--.*?-->|<[a-zA-Z](?:[^>"]|"[^"]*+")*+>""", re.DOTALL)


def dressed(fragment: str) -> str:
    """
    The fragment well-formed, and styled by `templates/mail/letter.css`; an author's style wins.

    Every word and every merge field of it is there as it was.
    """
    stand_ins = StandIns(fragment)
    plain, sheet = sound(stand_ins.text), render_to_string("mail/letter.css")
    made = _INLINER.inline_fragment(plain, sheet)
    if len(made) > LONGEST:
        made = f"<style>{sheet}</style>{plain}"
    quoted = _TAG.sub(lambda tag: stand_ins.put_back(tag[0], _in_quotes), made)
    return stand_ins.put_back(quoted)


def _in_quotes(field: str) -> str:
    return field.replace('"', "&quot;")

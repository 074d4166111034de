"""Inline a letter's style sheet, because mail programs read only parts of it.

Gmail drops a style sheet when a mail is forwarded, and Outlook reads only half of a style sheet.
Only dark colours and rules for phones stay in the head (templates/mail/parts/head_styles.html).
"""

import re
from contextlib import suppress

import css_inline
from django.template.loader import render_to_string

from delivery.mail.colours_and_typefaces import Look
from delivery.mail.field_placeholders import FieldPlaceholders
from delivery.mail.normalise_html import normalise

# The inliner fetches no URLs, and keeps an author's own rules for phones and dark mode.
_INLINER = css_inline.CSSInliner(
    load_remote_stylesheets=False, keep_style_tags=True, keep_at_rules=True, minify_css=True
)
# The styles of a longer letter are not inlined, because inboxes do not show such a letter in full.
MAX_LENGTH = 2_000_000
# The limit for inlining an author's own style sheet: about a second and 20 MB. A sheet of 50 kB in
# a letter of 2,000 tags is below this limit.
MAX_WORK = 20_000_000
_STYLE = re.compile(r"<style\b([^<]*+)")
_DECLARATION = re.compile(r"(?<![^\s{};:])([^\s{};:]++)\s*+:[^{};]*+")
# A button in normalised HTML. Outlook ignores the padding of a link, but not the padding of a cell.
_BUTTON = re.compile(
    r"""<p class="button">\s*+<a\b((?>(?:[^>"']|"[^"]*+"|'[^']*+')*)>"""
    r"""[^<]*(?:<(?!/?(?:p|a)\b)[^<]*)*</a>)\s*+</p>"""
)
_BUTTON_CELL = (
    '<table class="button" role="presentation" cellpadding="0" cellspacing="0" border="0">'
    r'<tr><td class="go" align="center"><a class="press"\1</td></tr></table>'
)
# The inliner writes attributes in double quotes.
_WITHOUT_TEXT = re.compile(r"<!--.*?-->|<style\b.*?</style>", re.DOTALL)
_TAG = re.compile(r"""<!--.*?-->|<[a-zA-Z](?>(?:[^>"]|"[^"]*+")*)>""", re.DOTALL)


def inline_styles(fragment: str, look: Look) -> str:
    """Normalise the fragment and inline `templates/mail/letter.css` for this look.

    An author's own style takes precedence.
    """
    placeholders = FieldPlaceholders(fragment)
    html = _BUTTON.sub(_BUTTON_CELL, normalise(placeholders.text))
    sheet = render_to_string("mail/letter.css", {"look": look})
    inlined = ""
    if _estimate_work(html) <= MAX_WORK:
        with suppress(css_inline.InlineError):
            inlined = _INLINER.inline_fragment(html, sheet)
    if not inlined or len(inlined) > MAX_LENGTH:
        inlined = f"<style>{sheet}</style>{html}"
    tags_restored = _TAG.sub(
        lambda tag: placeholders.restore(tag[0], lambda field: field.replace('"', "&quot;")),
        _encode_braces(inlined, placeholders),
    )
    return placeholders.restore(tags_restored)


def _encode_braces(html: str, placeholders: FieldPlaceholders) -> str:
    """Encode the braces of the text again, because the inliner has decoded them."""
    parts, end = list[str](), 0
    for kept in _WITHOUT_TEXT.finditer(html):
        parts += (placeholders.encode_braces(html[end : kept.start()]), kept[0])
        end = kept.end()
    return "".join((*parts, placeholders.encode_braces(html[end:])))


def _estimate_work(html: str) -> int:
    """Estimate the maximum number of characters that inlining writes.

    Each rule may match each tag. Each declaration is compared with all others of its tag. For a `~`
    in a selector, each tag is compared with all tags before it.
    """
    tags, longest, declarations, siblings = html.count("<"), dict[str, int](), 0, 0
    for sheet in _STYLE.findall(html):
        siblings += sheet.count("~")
        for found in _DECLARATION.finditer(sheet):
            declarations += 1
            longest[found[1]] = max(longest.get(found[1], 0), len(found[0]))
    written = sum(longest.values())
    return tags * (written + declarations * len(longest) // 10 + siblings * tags // 3)

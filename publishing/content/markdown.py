"""Render a letter's CommonMark, with tables, strikethrough and footnotes.

Attributes in braces follow a link (`{.button}`) or an image (`{width=50% align=right}`). The
newsletter's settings matter only for links to videos: the words of these links are in the
newsletter's language.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_ref

from delivery.mail.field_placeholders import FieldPlaceholders
from delivery.mail.fit_pictures import COLUMN_WIDTH
from delivery.mail.merge_fields import (
    ANY_BRACES,
    URL_FIELDS,
    FieldTemplate,
    iter_fields,
)
from publishing.content.videos import find_video, watch_words

_ADDRESSES = ("href", "src")
_CODE = ("code_inline", "code_block", "fence")
_BACKTICKS = re.compile("`++")
_ENDS_BLOCK = re.compile(r"~~~|\n[ \t]*+\n")
_MAX_LOOK_BACK = 300
_BUTTON = re.compile(r"\{\.button\}")
_OF_IMAGE = re.compile(
    r"\{((?: ?(?:width=[1-9][0-9]{0,3}(?:%|px)?|align=(?:left|right|center)))+)\}"
)
# A footnote's label has at most 50 characters. Without this limit, each label that has no end would
# be searched to the end of the letter, which takes quadratic time.
_IN_BRACKETS = re.compile(r"<([a-z0-9]++(?>(?:[/?#][^\s<>]*+)?))>")
_FOOTNOTE = re.compile(r"\[\^[^\s\]]{1,50}\]")
# The limit of footnote references, because the HTML of a reference is 40 times as long as its
# Markdown. References beyond the limit stay text.
MAX_REFERENCES = 1000


def _attributes(state: StateInline, _silent: bool) -> bool:
    """Read the braces after a link or an image. Other braces stay text."""
    token = state.tokens[-1] if state.tokens and not state.pending else None
    if token is None or state.src[state.pos] != "{":
        return False
    if token.type == "link_close" and (found := _BUTTON.match(state.src, state.pos)):
        token.meta["is_button"] = True
    elif token.type == "image" and (found := _OF_IMAGE.match(state.src, state.pos)):
        token.attrs.update(_image_attributes(dict(each.split("=") for each in found[1].split())))
    else:
        return False
    state.pos = found.end()
    return True


def _image_attributes(written: dict[str, str]) -> dict[str, str | int | float]:
    made: dict[str, str | int | float] = {}
    if width := written.get("width", ""):
        number = int(width.rstrip("%px"))
        # Outlook understands only widths in pixels.
        pixels = COLUMN_WIDTH * number // 100 if width.endswith("%") else number
        made["width"] = min(max(pixels, 1), COLUMN_WIDTH)
    if align := written.get("align"):
        made["align"] = align
    return made


def _field_link(state: StateInline, silent: bool) -> bool:
    """Turn `<{{ archive_url }}?a=b>` into a link, as Markdown does with `<https://…>`."""
    found = _IN_BRACKETS.match(state.src, state.pos)
    address = state.env["fields"].restore(found[1]) if found else ""
    first = next(iter_fields(address), None)
    if not found or not address.startswith("{{") or not first or first.name not in URL_FIELDS:
        return False
    if not silent:
        state.push("link_open", "a", 1).attrs = {"href": found[1]}
        state.push("text", "", 0).content = found[1]
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


def _footnote(state: StateInline, silent: bool) -> bool:
    count = state.env.setdefault("referred", 0)
    if count >= MAX_REFERENCES or not _FOOTNOTE.match(state.src, state.pos):
        return False
    found = footnote_ref(state, silent)
    state.env["referred"] += found and not silent
    return found


def _number(
    _renderer: RendererProtocol, tokens: Sequence[Token], at: int, _options: Any, _env: Any
) -> str:
    return f"[{tokens[at].meta['id'] + 1}]"


# HTML tags within Markdown are shown as text.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_MARKDOWN.use(footnote_plugin, inline=False)
_MARKDOWN.inline.ruler.at("footnote_ref", _footnote)
_MARKDOWN.add_render_rule("footnote_caption", _number)
_MARKDOWN.inline.ruler.push("attributes", _attributes)
_MARKDOWN.inline.ruler.before("autolink", "field_link", _field_link)


def render_markdown(markdown: str) -> str:
    """Return the letter as a fragment of HTML."""
    tokens, notes, placeholders = _parse(markdown, ANY_BRACES)
    _mark_up_videos(tokens)
    _mark_up_buttons(tokens)
    _prepare(tokens, placeholders)
    html = str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, notes))
    # Encode the remaining braces: they are in code, or the author escaped them.
    return placeholders.restore(placeholders.encode_braces(html), escapeHtml)


def outside_code(markdown: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """Return the matches of a pattern, such as merge fields, that are not in code."""
    tokens, _, placeholders = _parse(markdown, pattern)
    in_code = {number for code in _codes(tokens) for number in placeholders.numbers_in(code)}
    return [found for number, found in enumerate(placeholders.found) if number not in in_code]


def _parse(
    markdown: str, pattern: re.Pattern[str]
) -> tuple[list[Token], dict[str, Any], FieldPlaceholders]:
    placeholders = FieldPlaceholders(markdown, pattern, _is_whole)
    # Put a hash of the letter into the ids of footnotes, because several letters may be on one
    # page.
    digest = hashlib.sha256(markdown.encode("utf-8", "surrogatepass")).hexdigest()
    notes: dict[str, Any] = {"docId": digest[:8], "fields": placeholders}
    return _MARKDOWN.parse(placeholders.text, notes), notes, placeholders


def _is_whole(found: re.Match[str]) -> bool:
    """Return whether both braces are in the same piece of text or code."""
    if _ENDS_BLOCK.search(found[0]):
        return False
    if "`" not in found[0]:
        return True
    before = found.string[max(0, found.start() - _MAX_LOOK_BACK) : found.start()]
    name, _, fallback = found[0].partition("|")
    around = (before.rpartition("\n")[2], fallback)
    return "`" not in name and not any(len(_BACKTICKS.findall(part)) % 2 for part in around)


def _codes(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in _CODE:
            yield token.content
        yield from _codes(token.children or ())


def _mark_up_videos(tokens: Sequence[Token]) -> None:
    """Turn each paragraph that is only the address of a video into a button.

    An address in a list, a quote or a footnote stays as it is.
    """
    words = ""
    for paragraph, inline in pairwise(tokens):
        is_whole = paragraph.type == "paragraph_open" and not paragraph.level
        if is_whole and (video := find_video(inline.content)):
            words = words or watch_words()
            inline.children = [
                Token("link_open", "a", 1, attrs={"href": video.address}),
                Token("text", "", 0, content=words),
                Token("link_close", "a", -1, meta={"is_button": True}),
            ]


def _mark_up_buttons(tokens: Sequence[Token]) -> None:
    """Give the class `button` to each paragraph that is only a link with `{.button}`."""
    for paragraph, inline in pairwise(tokens):
        parts = inline.children or []
        if paragraph.type == "paragraph_open" and not paragraph.hidden and parts:
            is_link = [part.type for part in parts].count("link_open") == 1
            if is_link and parts[0].type == "link_open" and parts[-1].meta.get("is_button"):
                paragraph.attrs["class"] = "button"


def _prepare(tokens: Iterable[Token], placeholders: FieldPlaceholders) -> None:
    for token in tokens:
        if token.type in _CODE:
            token.content = placeholders.restore(token.content)
        # Drop the language of a code block. Mails do not show the language, and the renderer would
        # split a merge field in the language at a space.
        token.info = ""
        if token.attrs:
            token.attrs = {
                name: value
                for name, value in token.attrs.items()
                if name not in _ADDRESSES or _is_safe_address(placeholders.restore(str(value)))
            }
        if token.type in ("th_open", "td_open"):
            _mark_up_cell(token)
        if token.children:
            _prepare(token.children, placeholders)


def _is_safe_address(address: str) -> bool:
    """Return whether the address is safe after fallbacks replaced its merge fields."""
    return _MARKDOWN.validateLink(FieldTemplate(address, html=False).fill({}).strip())


def _mark_up_cell(token: Token) -> None:
    align = str(token.attrs.pop("style", ""))
    if token.type == "th_open":
        token.attrs["scope"] = "col"
    if align == "text-align:right":
        token.attrs["class"] = "num"
    elif align == "text-align:center":
        token.attrs["style"] = align

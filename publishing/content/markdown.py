"""
From Markdown to the HTML of a letter. Pure.

CommonMark with tables and strikethrough. Merge fields come through as they are wherever they stand:
in words, in code, in a table, in the address of a link.
"""

from __future__ import annotations

from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.token import Token

from delivery.mail.field_placeholders import FieldPlaceholders
from delivery.mail.merge_fields import FieldTemplate

# HTML within Markdown stays text: who wants HTML writes HTML.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])

_ADDRESSES = ("href", "src")


def render_markdown(markdown: str) -> str:
    """The letter as a fragment of HTML."""
    stand_ins = FieldPlaceholders(markdown)
    tokens = _MARKDOWN.parse(stand_ins.text)
    # Into the tokens and not into what is made of them: so a field is escaped for where it stands.
    _finish(tokens, stand_ins)
    return str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def _finish(tokens: Iterable[Token], stand_ins: FieldPlaceholders) -> None:
    for token in tokens:
        token.content = stand_ins.restore(token.content)
        # The language of code: mail shows none, and half a field in a class would be no field.
        token.info = ""
        if token.attrs:
            token.attrs = {
                name: stand_ins.restore(value) if isinstance(value, str) else value
                for name, value in token.attrs.items()
                if name not in _ADDRESSES or _may_be_linked(stand_ins.restore(str(value)))
            }
        if token.type in ("th_open", "td_open"):
            _dress_cell(token)
        if token.children:
            _finish(token.children, stand_ins)


def _may_be_linked(address: str) -> bool:
    """Whether no harm comes of the address, also where a field leaves its fallback there."""
    return _MARKDOWN.validateLink(FieldTemplate(address, html=False).fill({}).strip())


def _dress_cell(token: Token) -> None:
    """Headers say that they head a column; figures, which stand at the right, are a class."""
    align = str(token.attrs.pop("style", ""))
    if token.type == "th_open":
        token.attrs["scope"] = "col"
    if align == "text-align:right":
        token.attrs["class"] = "num"
    elif align == "text-align:center":
        token.attrs["style"] = align

"""
Render Markdown as the HTML of a letter: CommonMark, tables, strikethrough.

Pure.
"""

from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.token import Token

from delivery.mail.merge_fields import FieldPlaceholders, FieldTemplate

# HTML within Markdown stays text.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])

_ADDRESSES = ("href", "src")


def render_markdown(markdown: str) -> str:
    """Return the letter as a fragment of HTML."""
    placeholders = FieldPlaceholders(markdown)
    tokens = _MARKDOWN.parse(placeholders.text)
    # Put the fields back before rendering, because the renderer escapes them for their context.
    _restore_fields(tokens, placeholders)
    return str(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def _restore_fields(tokens: Iterable[Token], placeholders: FieldPlaceholders) -> None:
    for token in tokens:
        token.content = placeholders.restore(token.content)
        # Mail does not show the language of code, and a class could cut a field in two.
        token.info = ""
        if token.attrs:
            token.attrs = {
                name: placeholders.restore(value) if isinstance(value, str) else value
                for name, value in token.attrs.items()
                if name not in _ADDRESSES or _is_safe_address(placeholders.restore(str(value)))
            }
        if token.type in ("th_open", "td_open"):
            _mark_up_cell(token)
        if token.children:
            _restore_fields(token.children, placeholders)


def _is_safe_address(address: str) -> bool:
    """Return whether the address is harmless with its fields replaced by fallbacks."""
    return _MARKDOWN.validateLink(FieldTemplate(address, html=False).fill({}).strip())


def _mark_up_cell(token: Token) -> None:
    align = str(token.attrs.pop("style", ""))
    if token.type == "th_open":
        token.attrs["scope"] = "col"
    if align == "text-align:right":
        token.attrs["class"] = "num"
    elif align == "text-align:center":
        token.attrs["style"] = align

"""Render short texts of the author, such as the footer of mails, from Markdown.

Links, bold, italics and line breaks are rendered. All other signs, such as `#` and `<`, are text.
"""

import re
from collections.abc import Iterator, Sequence

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

_COMPLETE = re.compile("(?:https?://|mailto:|tel:)", re.IGNORECASE)


class _ShortMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 -- the name is markdown-it's
        """Accept only complete addresses, because a mail has no address of its own."""
        return bool(_COMPLETE.match(url))


_MARKDOWN = _ShortMarkdown("zero").enable(["autolink", "emphasis", "escape", "link", "newline"])
for _break in ("softbreak", "hardbreak"):
    _MARKDOWN.add_render_rule(_break, lambda *_: "<br>")


def html_paragraphs(markdown: str, **link_attributes: str) -> list[SafeString]:
    """Return the content of each paragraph as HTML. Links get the attributes."""
    paragraphs = []
    for inline in _inlines(markdown):
        for token in inline.children or []:
            if token.type == "link_open":
                # The title of a link would be a second text of the author, so it is dropped.
                token.attrs = {"href": token.attrs["href"], **link_attributes}
        html = _MARKDOWN.renderer.render([inline], _MARKDOWN.options, {})
        paragraphs.append(mark_safe(html))  # noqa: S308 -- the renderer escapes the text
    return paragraphs


def plain_lines(markdown: str) -> list[str]:
    """Return the lines as plain text, with an empty line between two paragraphs."""
    paragraphs = [_plain(inline.children or []) for inline in _inlines(markdown)]
    return "\n\n".join(paragraphs).split("\n") if paragraphs else []


def has_merge_field_braces(markdown: str) -> bool:
    """Return whether the text has double braces, before or after it is rendered."""
    rendered = (*html_paragraphs(markdown), *plain_lines(markdown))
    return any("{{" in text for text in (markdown, *rendered))


def _inlines(markdown: str) -> Iterator[Token]:
    return (token for token in _MARKDOWN.parse(markdown) if token.type == "inline")


def _plain(tokens: Sequence[Token]) -> str:
    """Write the address of a link after its text, unless the text is the address."""
    written, address, start = "", "", 0
    for token in tokens:
        if token.type == "link_open":
            address, start = str(token.attrs["href"]), len(written)
        elif token.type == "link_close":
            shown = address.removeprefix("mailto:")
            written += "" if written[start:] in (shown, address) else f" ({shown})"
        elif token.type in ("softbreak", "hardbreak"):
            written += "\n"
        else:
            written += token.content
    return written

"""Placeholders that protect merge fields from parsers."""

import hashlib
import re
from collections.abc import Callable, Iterator

from delivery.mail.merge_fields import (
    AS_ENTITIES,
    FIELD_OR_BRACES,
    TOUCHING_BRACES,
    escape_braces,
)


class FieldPlaceholders:
    """Placeholders that protect merge fields from parsers.

    `restore` puts the fields back. After a parser has decoded the text, all braces between
    placeholders are text. `is_protected` says which matches of the pattern get a placeholder.
    """

    def __init__(
        self,
        text: str,
        pattern: re.Pattern[str] = FIELD_OR_BRACES,
        is_protected: Callable[[re.Match[str]], bool] = lambda _: True,
    ) -> None:
        # The mark contains a hash of the text, because nobody can write a text that contains its
        # own hash. The mark does not begin like an entity or a hexadecimal number. So the text
        # before the mark cannot change how a parser reads the mark.
        self._mark = f"qz{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}n"
        self._is_protected = is_protected
        self.found: list[re.Match[str]] = []
        self.text = pattern.sub(self._placeholder, text)
        self._placeholders = re.compile(rf"{self._mark}([0-9]+)q")

    def _placeholder(self, found: re.Match[str]) -> str:
        if found[0][0] == "\\" or not self._is_protected(found):
            return found[0]
        self.found.append(found)
        return f"{self._mark}{len(self.found) - 1}q"

    def restore(self, text: str, write: Callable[[str], str] = str) -> str:
        """Put the fields back into `text`; `write` returns the text of each field."""
        if not self.found:
            return text
        return self._placeholders.sub(lambda one: write(self.found[int(one[1])][0]), text)

    def numbers_in(self, text: str) -> Iterator[int]:
        """Yield the index in `found` of each placeholder in `text`."""
        return (int(one[1]) for one in self._placeholders.finditer(text))

    def encode_braces(self, html: str) -> str:
        """Write braces of the text as entities if they could be read as braces of a field."""
        return self._rewrite_text(html, _encode_braces)

    def escape_braces(self, text: str) -> str:
        """Write the braces of a plain text so that they are not read as a field."""
        return self._rewrite_text(text, _escape_braces)

    def drop_braces(self, text: str) -> str:
        """Leave out braces of the text that could be read as the braces of a field."""
        return self._rewrite_text(text, _drop_braces)

    def _rewrite_text(self, text: str, write: Callable[[str, bool, bool], str]) -> str:
        if "{" not in text and "}" not in text and "\\" not in text:
            return text
        parts, end = list[str](), 0
        for found in self._placeholders.finditer(text):
            parts += (write(text[end : found.start()], end > 0, True), found[0])
            end = found.end()
        return "".join((*parts, write(text[end:], end > 0, False)))


def _encode_braces(html: str, after_field: bool, before_field: bool) -> str:
    html = TOUCHING_BRACES.sub(lambda run: run[0].translate(AS_ENTITIES), html)
    if before_field and html.endswith(("{", "}", "\\")):
        html = html[:-1] + html[-1].translate(AS_ENTITIES)
    if after_field and html.startswith(("{", "}")):
        html = html[0].translate(AS_ENTITIES) + html[1:]
    return html


def _escape_braces(text: str, after_field: bool, before_field: bool) -> str:
    text = escape_braces(text)
    # Three braces in a row do not begin a field. So a blank must separate a brace at the end of the
    # text from the two braces of the field.
    if before_field and text.endswith("{"):
        text = f"{text} "
    elif before_field and text.endswith("\\"):
        text += "\\" * (len(text) - len(text.rstrip("\\")))
    return f" {text}" if after_field and text.startswith("}") else text


def _drop_braces(text: str, after_field: bool, before_field: bool) -> str:
    text = TOUCHING_BRACES.sub("", text)
    text = text.rstrip("{}\\") if before_field else text
    return text.lstrip("{}") if after_field else text

"""Extract the texts that people read from Python, templates, scripts and Markdown."""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from typing import Literal

from django.template.base import Lexer, Token, TokenType

REPOSITORY = Path(__file__).parents[2]
# Released migrations never change.
SKIPPED = ("static/vendor/", "requirements/", "LICENSE", "migrations/")
MARKS = frozenset(
    {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext"}
)
VISIBLE_ATTRIBUTES = ("title", "aria-label", "aria-description", "placeholder", "alt", "label")

Kind = Literal["comment", "docstring", "string", "marked", "unmarked", "prose"]


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a file, with its line and its kind."""

    path: str
    line: int
    kind: Kind
    words: str


def prose_files(*paths: str) -> list[str]:
    """List the files below `paths` that hold prose, relative to the repository."""
    found = []
    for start in paths or [""]:
        whole = REPOSITORY / start
        for folder, folders, names in os.walk(whole) if whole.is_dir() else [_single(whole)]:
            here = Path(folder).relative_to(REPOSITORY).as_posix()
            folders[:] = [name for name in folders if name == ".ci" or not _is_made(name)]
            found += [name if here == "." else f"{here}/{name}" for name in names]
    return sorted(path for path in set(found) if not path.startswith(SKIPPED))


def _single(path: Path) -> tuple[str, list[str], list[str]]:
    return str(path.parent), [], [path.name]


def _is_made(name: str) -> bool:
    """Whether programs generated a folder, such as an environment."""
    return name.startswith(".") or name in {"__pycache__", "staticfiles"}


@cache
def texts_of(path: str) -> tuple[Text, ...]:
    """Read every text of a file; a file of another kind has none."""
    source = (REPOSITORY / path).read_text(errors="replace")
    match Path(path).suffix:
        case ".py":
            texts = python_texts(path, source)
        case "" if source.startswith("#!") and "python" in source.splitlines()[0]:
            texts = python_texts(path, source)
        case ".html" | ".txt":
            texts = template_texts(path, source)
        case ".js" | ".css":
            texts = script_texts(path, source)
        case ".md":
            texts = markdown_texts(path, source)
        case ".yml" | ".conf" | ".toml" | ".service" | ".socket" | ".target" | ".sh":
            texts = chain(hash_comments(path, source), named_values(path, source))
        case ".json" if path.startswith("deploy/"):
            texts = named_values(path, source)
        case _ if Path(path).name in {"Makefile", "Dockerfile", "run"}:
            texts = hash_comments(path, source)
        case _:
            texts = iter(())
    return tuple(texts)


# --- Python ----------------------------------------------------------------------------------
def python_texts(path: str, source: str) -> Iterator[Text]:
    """Read comments, docstrings and strings; adjacent lines of a comment are one text."""
    tree = ast.parse(source)
    docstrings = {id(node) for node in _docstring_nodes(tree)}
    yield from hash_comments(path, source, _comment_tokens(source))
    for node, is_marked in _strings(tree, marked=False):
        if id(node) in docstrings:
            yield Text(path, node.lineno, "docstring", str(node.value))  # type: ignore[attr-defined]
        else:
            yield Text(path, node.lineno, "marked" if is_marked else "string", _words(node))


def _docstring_nodes(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def _strings(node: ast.AST, *, marked: bool) -> Iterator[tuple[ast.expr, bool]]:
    if isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    ):
        yield node, marked
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    yield from _strings(part.value, marked=False)
        return
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        for child in ast.iter_child_nodes(node):
            inside = name in MARKS and child is not node.func
            yield from _strings(child, marked=inside)
        return
    for child in ast.iter_child_nodes(node):
        yield from _strings(child, marked=marked)


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.JoinedStr)
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
    )


def _comment_tokens(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def hash_comments(path: str, source: str, found: dict[int, str] | None = None) -> Iterator[Text]:
    """Read comments that begin with `#`."""
    if found is None:
        found = {
            number: match[1]
            for number, line in enumerate(source.splitlines(), 1)
            if (match := re.search(r"(?:^|\s)(#.*)", line))
        }
    yield from _joined(path, {n: re.sub(r"^[#!:\s-]+", "", words) for n, words in found.items()})


def named_values(path: str, source: str) -> Iterator[Text]:
    """Read the titles and descriptions in settings of other programs."""
    named = r'\b(?:title|summary|description|Description)"?\s*[:=]\s*"?(\w[^"\n]*)'
    for match in re.finditer(named, source):
        yield Text(path, source.count("\n", 0, match.start()) + 1, "prose", match[1])


def _joined(path: str, lines: dict[int, str]) -> Iterator[Text]:
    first = last = -1
    words: list[str] = []
    for number in sorted(lines):
        if number != last + 1 and words:
            yield Text(path, first, "comment", " ".join(words))
            words = []
        if not words:
            first = number
        words.append(lines[number])
        last = number
    if words:
        yield Text(path, first, "comment", " ".join(words))


# --- Templates -------------------------------------------------------------------------------
def template_texts(path: str, source: str) -> Iterator[Text]:
    """Read marked and unmarked texts of a Django template, and its comments."""
    page = _PageText(path)
    tokens = iter(Lexer(source).tokenize())
    for token in tokens:
        name = token.contents.split(maxsplit=1)[0] if token.contents.split() else ""
        if token.token_type == TokenType.COMMENT:
            yield Text(path, _line(token), "comment", token.contents)
        elif token.token_type == TokenType.BLOCK and name == "comment":
            inside = _until(tokens, "endcomment")
            yield Text(path, _line(token), "comment", _source_of(inside))
        elif token.token_type == TokenType.BLOCK and name in {"blocktranslate", "blocktrans"}:
            inside = _until(tokens, f"end{name}")
            for words in _plural_forms(inside):
                yield Text(path, _line(token), "marked", words)
            page.add("\0", newlines=_source_of(inside).count("\n"))
        elif token.token_type == TokenType.TEXT:
            page.add(token.contents)
        else:
            yield from _tag_texts(path, token, name)
            page.add("\0", newlines=token.contents.count("\n"))
    yield from page.texts()


def _line(token: Token) -> int:
    return token.lineno or 1


def _until(tokens: Iterator[Token], end: str) -> list[Token]:
    inside = []
    for token in tokens:
        if token.token_type == TokenType.BLOCK and token.contents.strip() == end:
            break
        inside.append(token)
    return inside


def _source_of(tokens: Iterable[Token]) -> str:
    return "".join("x" if token.token_type == TokenType.VAR else token.contents for token in tokens)


def _plural_forms(inside: list[Token]) -> Iterator[str]:
    form: list[Token] = []
    for token in inside:
        if token.token_type == TokenType.BLOCK:
            yield _plain(_source_of(form))
            form = []
        else:
            form.append(token)
    yield _plain(_source_of(form))


def _plain(html: str) -> str:
    shown = rf' (?:{"|".join(VISIBLE_ATTRIBUTES)})="([^"]*)"'
    attributes = re.findall(shown, html)
    return " ".join([re.sub(r"<[^>]*>", "", html), *attributes])


def _tag_texts(path: str, token: Token, name: str) -> Iterator[Text]:
    """Read the string literals in a tag or variable, marked or not."""
    if name in {"if", "elif", "url", "static", "note"}:
        return
    for match in re.finditer(r"""(_\()?("[^"]*"|'[^']*')""", token.contents):
        words = match[2][1:-1]
        is_marked = bool(match[1]) or name in {"translate", "trans"}
        if is_marked:
            yield Text(path, _line(token), "marked", words)
        elif re.search(r"[A-Za-z] +[A-Za-z]|^[A-Z]", words) and not re.search(r"[<%]", words):
            yield Text(path, _line(token), "unmarked", words)
    for filter_name in ("pluralize", "counted:"):
        if f"|{filter_name}" in token.contents:
            yield Text(path, _line(token), "unmarked", token.contents)


class _PageText(HTMLParser):
    """Collect the words of a page that no tag marks."""

    def __init__(self, path: str) -> None:
        super().__init__(convert_charrefs=True)
        self._path = path
        self._html: list[str] = []
        self._found: list[Text] = []
        self._silent = 0

    def add(self, html: str, newlines: int = 0) -> None:
        self._html.append(html + "\n" * newlines)

    def texts(self) -> Iterator[Text]:
        self.feed("".join(self._html))
        self.close()
        yield from self._found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in {"script", "style", "code", "kbd", "pre"}
        given = dict(attrs)
        shown = [given.get(name) for name in VISIBLE_ATTRIBUTES]
        if tag == "input" and given.get("type") in {"submit", "button"}:
            shown.append(given.get("value"))
        if tag == "meta" and given.get("name") == "description":
            shown.append(given.get("content"))
        for words in shown:
            self._keep(words or "")

    def handle_comment(self, data: str) -> None:
        if not re.match(r"\[if|<!\[", data):  # Outlook's conditions hold markup.
            self._found.append(Text(self._path, self.getpos()[0], "comment", data))

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in {"script", "style", "code", "kbd", "pre"}

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._keep(data)

    def _keep(self, words: str) -> None:
        line = self.getpos()[0]
        for piece in words.split("\0"):
            # Verbatim merge fields, and attributes that a block or a condition adds.
            shown = re.sub(r"""\{\{.*?\}\}|[\w-]+="[^"]*"|<\w+""", "", piece)
            if re.search(r"[^\W\d_]{2}", shown):
                first = line + shown[: len(shown) - len(shown.lstrip())].count("\n")
                self._found.append(Text(self._path, first, "unmarked", " ".join(shown.split())))
            line += piece.count("\n")


# --- Scripts and Markdown --------------------------------------------------------------------
def script_texts(path: str, source: str) -> Iterator[Text]:
    """Read comments of a script or style sheet, and the strings of a script."""
    block_or_line = r"/\*(.*?)\*/|(?<![:\"'])//([^\n]*)"
    comments: dict[int, str] = {}
    for match in re.finditer(block_or_line, source, re.S):
        line = source.count("\n", 0, match.start()) + 1
        for offset, words in enumerate((match[1] or match[2] or "").splitlines()):
            comments[line + offset] = words.strip(" *-")
    yield from _joined(path, comments)
    if path.endswith(".js"):
        for match in re.finditer(r'"([^"\n]*)"|`([^`]*)`', re.sub(block_or_line, "", source)):
            words = match[1] or match[2] or ""
            yield Text(path, source.count("\n", 0, source.find(words)) + 1, "string", words)


def markdown_texts(path: str, source: str) -> Iterator[Text]:
    """Read the paragraphs, cells and list items of a Markdown page; code is left out."""
    fenced = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1\s*$", re.S | re.M)
    blanked = fenced.sub(lambda match: "\n" * match[0].count("\n"), source)
    number = 1
    for paragraph in re.split(r"(\n(?:[ \t]*\n)+|\n(?=\s*(?:[-*|]|\d+\.) )|(?<=\|)\n)", blanked):
        for cell in paragraph.split(" | "):
            words = re.sub(r"``?[^`]*``?", "x", re.sub(r"\]\([^)]*\)", "]", cell))
            words = re.sub(r"^[\s#>|*+-]*(\d+\.\s)?[\s\[*_]*", "", words)
            if words.strip():
                yield Text(path, number, "prose", words)
        number += paragraph.count("\n")

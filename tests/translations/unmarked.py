"""Find texts shown to users that are not marked for translation."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from html.parser import HTMLParser

from django.template.base import Lexer, TokenType

# Names and codes that are the same in every language.
UNTRANSLATED = re.compile(
    r"\b(Homing|Postmark|Markdown|HTML|CSV|JSON|DNS|SPF|DKIM|DMARC|UTC|kB|MB|URL|Atom|Gmail)\b"
)
# Strings that are names or a User-Agent, so they need no translation.
NAMES = frozenset(
    {
        "Ada Whitlock",
        "Managers of readers",
        "Sender Signatures",
        "Homing (opens the links of a letter before it is published)",
        "The Homing Letter",
    }
)
MARKS = frozenset(
    {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "counted"}
)
VISIBLE_ATTRIBUTES = ("title", "aria-label", "aria-description", "placeholder", "alt", "label")
# Calls whose texts only a program or a programmer reads, such as some exceptions. The messages of
# exceptions that are not listed here are for users.
_NOT_SHOWN = frozenset(
    {
        *(
            "ApiText",
            "execute",
            "compile",
            "SQL",
            "RunSQL",
            "Literal",
            "Service",
            "WebhookRefusedError",
            "TypeVar",
            "getLogger",
            "assert_never",
        ),
        *("BrokenClaimError", "CannotBeReplayedError", "ImproperlyConfigured"),
        *("TransactionManagementError", "WrongIsolationError"),
    }
)
_LOG_CALLS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})


def unmarked_texts(path: str, source: str) -> Iterator[str]:
    """Yield the unmarked texts of a module or a template, each with its line."""
    if path.endswith(".py"):
        yield from (f"{path}:{line}: {words}" for line, words in _in_python(source))
    else:
        shown = [words for words in _in_template(source) if _has_words(words)]
        yield from (f"{path}: {words}" for words in shown)


def _has_words(words: str) -> bool:
    return re.search(r"[^\W\d_]{2}", UNTRANSLATED.sub("", words)) is not None


# --- Python ----------------------------------------------------------------------------------
def _in_python(source: str) -> Iterator[tuple[int, str]]:
    """List the strings that look like a label or a sentence and are not marked."""
    tree = ast.parse(source)
    for node in _strings_for_people(tree):
        if _is_sentence(words := _words(node)):
            yield node.lineno, words
    # makemessages does not find marked texts inside f-strings.
    for outer in ast.walk(tree):
        for node in ast.walk(outer) if isinstance(outer, ast.JoinedStr) else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MARKS:
                yield from ((node.lineno, words) for words in map(_words, node.args) if words)


def _strings_for_people(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in MARKS or _is_not_shown(node.func, name):
            return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Constant | ast.JoinedStr):
            yield child
        elif not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
            yield from _strings_for_people(child)


def _is_not_shown(called: ast.expr, name: str) -> bool:
    if name in _LOG_CALLS:
        return getattr(getattr(called, "value", None), "id", "") in {"log", "logger"}
    error = getattr(builtins, name, None)
    return name in _NOT_SHOWN or (isinstance(error, type) and issubclass(error, BaseException))


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_sentence(words: str) -> bool:
    """Return whether a string begins like a sentence, and not like SQL."""
    return bool(
        re.match(r"[“\"]?[A-Z{][a-z_}]*[ ,’']", words)
        and len(re.findall(r"[A-Za-z]{2,}", words)) >= 2
        and not re.match(r"[A-Z]{3,}\b|\{\} ([A-Z]{2,}\b|[<=])", words)
        and words not in NAMES
    )


# --- Templates -------------------------------------------------------------------------------
def _in_template(source: str) -> Iterator[str]:
    """List a template's unmarked words, and the literals that its tags show."""
    page, end = _Page(), ""
    for token in Lexer(source).tokenize():
        name = (token.contents.split() or [""])[0]
        if end:
            end = "" if name == end else end
        elif token.token_type == TokenType.TEXT:
            page.feed(token.contents)
        elif token.token_type == TokenType.BLOCK and name in {"blocktranslate", "comment"}:
            end = f"end{name}"
        elif token.token_type != TokenType.COMMENT:
            page.feed("\0")
            yield from _literals(token.contents, name)
    page.close()
    for words in page.found:
        for piece in words.split("\0"):
            # Leave out verbatim merge fields, and attributes that a block or a condition adds.
            yield " ".join(re.sub(r"""\{\{.*?\}\}|[\w-]+="[^"]*"|<\w+""", "", piece).split())


def _literals(contents: str, name: str) -> Iterator[str]:
    if name in {"if", "elif", "url", "static", "note", "translate", "trans"}:
        return
    for mark, literal in re.findall(r"""(_\()?("[^"]*"|'[^']*')""", contents):
        words = literal[1:-1]
        is_text = re.search(r"[A-Za-z] +[A-Za-z]|^[A-Z]", words) and not re.search(r"[<%]", words)
        if is_text and not mark:
            yield words
    if re.search(r"\|(pluralize|counted:)", contents):
        yield contents


class _Page(HTMLParser):
    """Collect the texts and visible attributes of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in {"script", "style", "code", "kbd", "pre"}
        given = dict(attrs)
        names = [*VISIBLE_ATTRIBUTES]
        names += ["value"] if given.get("type") in {"submit", "button"} and tag == "input" else []
        names += ["content"] if tag == "meta" and given.get("name") == "description" else []
        self.found += [given.get(name) or "" for name in names]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in {"script", "style", "code", "kbd", "pre"}

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.found.append(data)

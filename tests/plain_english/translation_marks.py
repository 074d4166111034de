"""Find texts shown to users that are not marked for translation."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from tests.plain_english.prose import MARKS, REPOSITORY, texts_of

# Names and codes, which every language shows as they are.
UNTRANSLATED = re.compile(
    r"\b(Homing|Postmark|Markdown|HTML|CSV|JSON|DNS|SPF|DKIM|DMARC|UTC|kB|MB|URL|Atom|Gmail)\b"
)
# A User-Agent, and names.
NAMES = frozenset(
    {
        "Ada Whitlock",
        "Homing (opens the links of a letter before it is published)",
        "The Homing Letter",
    }
)
PRODUCT = (
    *("delivery/", "idempotency/", "newsletter_site/", "publishing/", "subscribers/"),
    "templates/",
)
# Programs read these texts, operators search for them, or they are shown before Django runs.
ENGLISH_ONLY = (
    "api/",
    "delivery/checks.py",
    "delivery/feedback/webhook_view.py",
    "delivery/postmark/",
    "newsletter_site/api/",
    "newsletter_site/checks.py",
    "newsletter_site/demo/",
    "newsletter_site/embedded_postgres/",
    "newsletter_site/environment",
    "newsletter_site/logs/",
    "newsletter_site/operations/metrics/",
    "newsletter_site/settings",
    "newsletter_site/web_worker.py",
    "publishing/api/",
    "publishing/demo_material/",
    "subscribers/api/",
)
# A call that hands its texts to a program, or to programmers only.
_NOT_SHOWN = re.compile(r"^(execute|compile|SQL|RunSQL|Literal|TypeVar|getLogger|assert_never)$")
_LOG_CALLS = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})
# Further exceptions for programmers, besides the built-in ones. Messages of all others are for
# users.
_ERRORS_FOR_PROGRAMMERS = frozenset(
    {
        *("BrokenClaimError", "CannotBeReplayedError", "ImproperlyConfigured"),
        *("TransactionManagementError", "TruncatedBodyError", "WrongIsolationError"),
    }
)


def unmarked_texts(path: str) -> Iterator[tuple[int, str]]:
    """List the unmarked texts of a tracked file with their lines."""
    if not path.startswith(PRODUCT) or path.startswith(ENGLISH_ONLY):
        return
    if path.endswith(".py"):
        yield from unmarked_in_python((REPOSITORY / path).read_text())
        return
    for text in texts_of(path):
        if text.kind == "unmarked" and re.search(r"[^\W\d_]{2}", UNTRANSLATED.sub("", text.words)):
            yield text.line, text.words


def unmarked_in_python(source: str) -> Iterator[tuple[int, str]]:
    """List the strings that look like a label or a sentence and are not marked."""
    tree = ast.parse(source)
    for node in _strings_for_people(tree):
        words = _words(node)
        if _is_sentence(words):
            yield node.lineno, words
    yield from _marks_in_f_strings(tree)


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
    built_in = isinstance(error := getattr(builtins, name, None), type) and issubclass(
        error, BaseException
    )
    return built_in or name in _ERRORS_FOR_PROGRAMMERS or bool(_NOT_SHOWN.match(name))


def _marks_in_f_strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """List marked texts inside f-strings, where makemessages does not find them."""
    for outer in ast.walk(tree):
        for node in ast.walk(outer) if isinstance(outer, ast.JoinedStr) else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MARKS:
                text = node.args[0]
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield node.lineno, text.value


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    assert isinstance(node, ast.JoinedStr)
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
    )


def _is_sentence(words: str) -> bool:
    """Return whether a string begins like a sentence; SQL begins with capitals."""
    return bool(
        re.match(r"[“\"]?[A-Z{][a-z_}]*[ ,’']", words)
        and len(re.findall(r"[A-Za-z]{2,}", words)) >= 2
        and not re.match(r"[A-Z]{3,}\b|\{\} ([A-Z]{2,}\b|[<=])", words)
        and words not in NAMES
    )

"""Rules for plain English, and the texts that break them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.plain_english.prose import REPOSITORY, Text, prose_files, texts_of

# The start of a text or of a sentence in it.
_START = r"(?:^|(?<=[.!?:;] )|(?<=[.!?]” ))[“\"(*]*"


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that plain English avoids, and what to write instead."""

    pattern: str
    instead: str


RULES = (
    Rule(rf"{_START}(Of)\b(?! course)", "begin with the subject"),
    Rule(rf"{_START}(What (?:is|was|are|were))\b(?![^.]*\?)", "name the thing"),
    Rule(rf"{_START}(That)\b(?! is why)", "name the thing"),
    Rule(r"\b(whoever|all that|none of what)\b", "name the thing"),
    Rule(r"\b(so many|so much)\b(?! that)", "give the number, or “as many as”"),
    Rule(r"\b(mend(?:s|ed|ing)?)\b", "fix"),
    Rule(r"\b(stands?|standing|stood)\b(?! for)(?!-)", "is, are"),
    Rule(r"\b(told|tells of)\b", "reported, shown"),
    Rule(r"\b(comes? to|came to)\b", "reaches, is"),
    Rule(r"\b(go(?:es)? on|went on|going on)\b", "continues"),
    Rule(r"\b((?:is|are|was|were) over)\b", "has ended"),
    Rule(r"\b(in the air)\b", "in flight, being sent"),
    Rule(r"\b(in line)\b(?! with)", "queued"),
    Rule(r"\b(by itself|by themselves|of itself|of its own accord)\b", "automatically"),
    Rule(r"\b(nobody else's)\b", "name the owner"),
    Rule(r"\b(lets? go of|letting go of)\b", "releases"),
    Rule(r"\b(a person|some person|any person)\b", "an author, an operator"),
    Rule(r"\b(no (?:\w+ )?\w+ that)\b", "say it without the double step"),
    Rule(r"\b(so that \w+(?: \w+)? and)\b", "two sentences"),
    Rule(r"\b(in doubt|doubtful)\b", "unconfirmed"),
    Rule(r"\b(errands?|chores?)\b", "background task"),
    Rule(r"\b(shut out|shuts out|let in again)\b", "block, unblock"),
    Rule(r"\bthe only (?:place|one|module|code|function) (that)\b", "delete it"),
)
LONGEST_FIRST_LINE = 80
LONGEST_TEST_NAME = 10
# The most words in one sentence of a marked text. Readers see texts of these folders.
LONGEST_SENTENCE_READERS = 20
LONGEST_SENTENCE_DESK = 25
READERS_MEET = (
    "templates/archive/",
    "templates/mail/",
    "templates/subscribers/confirm",
    "templates/subscribers/data",
    "templates/subscribers/eras",
    "templates/subscribers/personal",
    "templates/subscribers/sign_up",
    "templates/subscribers/unsub",
    "subscribers/consent/",
    "subscribers/data_requests/",
    "subscribers/leaving/",
    "subscribers/signup/",
)

# Path (or its beginning), the words found, and the reason why they may stay.
ALLOWED: tuple[tuple[str, str, str], ...] = (
    ("tests/plain_english/", "", "it names and plants the banned words"),
    ("publishing/demo_material/", "", "a letter has the voice of its author"),
    ("docs/glossary.md", "", "it names old words beside the terms"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A text that breaks a rule, and what to do."""

    path: str
    line: int
    found: str
    instead: str
    context: str = ""

    def __str__(self) -> str:
        context = f"  … {self.context} …" if self.context else ""
        return f"{self.path}:{self.line}: “{self.found}”: {self.instead}{context}"


def findings_of(path: str) -> Iterator[Finding]:
    """Check one tracked file."""
    for text in texts_of(path):
        yield from check(text)
    if path.endswith(".py"):
        yield from _names_and_docstrings(path)


def check(text: Text) -> Iterator[Finding]:
    """Check one text against every rule."""
    words = _without_quotations(text)
    if text.kind == "string" and (" " not in words.strip() or _is_code(words)):
        return
    for rule in RULES:
        for match in re.finditer(rule.pattern, words, re.I if rule.pattern[0] == "\\" else 0):
            around = words[max(0, match.start() - 30) : match.end() + 30]
            finding = Finding(text.path, text.line, match[0], rule.instead, around)
            if not _is_allowed(finding):
                yield finding
    if text.kind == "marked":
        yield from _long_sentences(text)


def _without_quotations(text: Text) -> str:
    words = " ".join(text.words.split())
    if text.kind in {"marked", "unmarked"}:
        return words
    words = re.sub(r"``?[^`]*``?", "x", words)
    return re.sub(r"“[^”]*”", "“x”", words)


def _is_code(words: str) -> bool:
    """Whether a string is SQL, a pattern, JSON or markup instead of prose."""
    return bool(
        re.match(
            r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|SET|FROM|WHERE|AND)\b", words
        )
        or re.search(r"[\\<>|=]{2}|\(\?", words)
    )


def _long_sentences(text: Text) -> Iterator[Finding]:
    most = LONGEST_SENTENCE_READERS if text.path.startswith(READERS_MEET) else LONGEST_SENTENCE_DESK
    for sentence in re.split(r"(?<=[.!?:;])[”)]? ", " ".join(text.words.split())):
        length = len(re.findall(r"[^\W_]+(?:['’./@:-][^\W_]+)*|\{[^}]*\}", sentence))
        if length > most:
            yield Finding(text.path, text.line, sentence, f"{length} words; at most {most}")


def _names_and_docstrings(path: str) -> Iterator[Finding]:
    for node in ast.walk(ast.parse((REPOSITORY / path).read_text())):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = (ast.get_docstring(node) or "").partition("\n")[0]
        line = getattr(node, "lineno", 1)
        if len(first) > LONGEST_FIRST_LINE:
            yield Finding(path, line, first, f"{len(first)} characters; at most 80 in a first line")
        name = getattr(node, "name", "")
        length = len(name.split("_")) - 1
        if name.startswith("test_") and length > LONGEST_TEST_NAME:
            yield Finding(path, line, name, f"{length} words; at most 10 after test_")


def _is_allowed(finding: Finding) -> bool:
    return any(
        finding.path.startswith(path) and words.lower() in finding.found.lower()
        for path, words, _ in ALLOWED
    )


def all_findings(paths: Iterable[str]) -> list[Finding]:
    """Check the tracked files below `paths`, or all tracked files."""
    return [found for path in prose_files(*paths) for found in findings_of(path)]

"""Texts, docstrings and test names follow plain English (docs/glossary.md)."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
READ = {".py", ".html", ".txt", ".js", ".css", ".md", ".yml", ".conf", ".toml", ".service", ".sh"}
# Texts that others wrote, letters in their author's voice, the glossary with its old words, and
# this list of banned words.
SKIPPED = (
    *(
        "static/vendor/",
        "requirements/",
        "migrations/",
        "newsletter_site/demo/material/",
        "locale/",
    ),
    *("docs/glossary.md", "tests/test_plain_words.py"),
)
# Patterns of banned words, with better words. A space in a pattern also matches a line break.
BANNED = {
    r"\b(?:whoever|all that|none of what)\b": "name the thing",
    r"\b(?-i:mend(?:s|ed|ing)?)\b": "fix",
    r"\b(?:stands|stood)\b(?! for| =|[\])(])": "is, are",
    r"\b(?-i:told|tells of)\b(?! =|[\])(.,])": "reported, shown",
    r"\b(?:comes? to|came to)\b": "reaches, is",
    r"\b(?:go(?:es)? on|went on|going on)\b": "continues",
    r"\b(?:is|are|was|were) over\b": "has ended",
    r"\bin the air\b": "in flight, being sent",
    r"\b(?:by itself|by themselves|of itself|of its own accord)\b": "automatically",
    r"\bnobody else's\b": "name the owner",
    r"\b(?:lets? go of|letting go of)\b": "releases",
    r"\b(?:a|some|any) person\b": "an author, an operator",
    r"\bin doubt\b": "unconfirmed",
    r"\b(?:errands?|chores?)\b": "background task",
    r"\b(?:shuts? out|let in again)\b": "block, unblock",
    r"(?-i:[a-z0-9][.!?:] Of)\b(?! course)": "begin with the subject",
    r"(?-i:[a-z0-9][.!?:] (?:What (?:is|was|are|were)|That))\b(?! is why)": "name the thing",
}


def findings(words: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, words and advice for each banned phrase outside quotations and code."""
    words = re.sub(r"``?[^`\n]*``?|“[^”]*”", lambda quoted: re.sub(r"\S", "x", quoted[0]), words)
    for pattern, instead in BANNED.items():
        for match in re.finditer(pattern.replace(" ", r"\s+(?:(?:#|\*|//)\s*)?"), words, re.I):
            yield words.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), instead


def paths() -> Iterator[Path]:
    """Yield the files that people read."""
    for folder, folders, names in os.walk(REPOSITORY):
        folders[:] = [one for one in folders if not one.startswith((".", "__")) or one == ".ci"]
        yield from (Path(folder, name) for name in names if Path(name).suffix in READ)


def test_every_text_is_plain() -> None:
    found = []
    for path in paths():
        place = path.relative_to(REPOSITORY).as_posix()
        if not place.startswith(SKIPPED):
            found += [
                f"{place}:{line}: “{words}”: write {instead}"
                for line, words, instead in findings(path.read_text(errors="replace"))
            ]
    assert not found, "Rewrite these in plain words:\n" + "\n".join(sorted(found))


def test_docstrings_and_test_names_are_short() -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for path in (one for one in paths() if one.suffix == ".py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            name = getattr(node, "name", None) or ""
            first = (
                (ast.get_docstring(node) or "").split("\n")[0] if isinstance(node, kinds) else ""
            )
            if len(first) > 80 or (name.startswith("test_") and name.count("_") > 10):
                found.append(f"{path.relative_to(REPOSITORY)}: {name}: {first}")
    assert not found, "At most 80 characters, at most ten words:\n" + "\n".join(sorted(found))


def test_a_banned_phrase_is_found_outside_quotations_and_code() -> None:
    for words in (
        "Claims go on.",
        "# A claim goes\n    # on here.",
        "// It goes\n// on.",
        "Nothing is lost. Of the batches the first is taken.",
        "It is sent. That it was sent is recorded.",
        "It waits until a person decides.",
    ):
        assert list(findings(words)), words
    assert not list(findings("The page says “it goes on”, and `goes on` is code. Of course."))

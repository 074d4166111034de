"""Find the shell commands of a Markdown page."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

from tests.postgres_cluster import ROOT

PAGES = sorted(["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
PAGES += ["CONTRIBUTING.md", "SECURITY.md", "docs/proof/README.md", "idempotency/README.md"]
SHELL = ("sh", "bash", "console")
KEYWORDS = {"{", "}", "if", "then", "else", "elif", "fi", "for", "in", "do", "done", "while", "!"}
_REDIRECTION = re.compile(r"[<>]+&?")


class Block(NamedTuple):
    """A fenced block. `line` is the number of the opening fence, counted from 1."""

    page: str
    line: int
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks, as a Markdown parser finds them."""
    found = MarkdownIt("commonmark").parse((ROOT / page).read_text())
    return [
        Block(page, one.map[0] + 1, one.info.strip(), one.content)
        for one in found
        if one.type == "fence" and one.map
    ]


def shell_blocks() -> list[Block]:
    """Return the blocks of all pages that a reader pastes into a shell."""
    return [block for page in PAGES for block in blocks(page) if block.language in SHELL]


def inline_commands(page: str) -> list[str]:
    """Return the code spans that are complete commands of Homing."""
    tokens = MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text())
    spans = [part for one in tokens for part in one.children or () if part.type == "code_inline"]
    return [one.content for one in spans if re.match(r"\./homing [a-z]", one.content)]


def simple_commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each command of a script, also of inner commands.

    Bash removes comments and joins lines. No part of the script is run.
    """
    printed = subprocess.run(
        ["bash", "-c", f"script() {{\n{script}\n}}\ndeclare -f script"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    body = printed.split("{", 1)[1].rsplit("}", 1)[0]
    body = re.sub(r"(<<'?(\w+)'?.*\n)(?:.*\n)*?\2\n", r"\1", body)
    lexer = shlex.shlex(body, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    lexer.commenters = ""
    for is_end, words in groupby(lexer, lambda word: bool(re.fullmatch(r"[;&|()\n]+", word))):
        if not is_end:
            yield from _with_inner(_without_redirections(list(words)))


def _without_redirections(words: list[str]) -> list[str]:
    kept: list[str] = []
    is_target = False
    for word in words:
        if _REDIRECTION.fullmatch(word):
            if kept and kept[-1] == "2":
                kept.pop()
            is_target = True
        elif is_target:
            is_target = False
        else:
            kept.append(word)
    return kept


def _with_inner(words: list[str]) -> Iterator[list[str]]:
    """Yield a command, and the commands within it, in `$(…)` or after `runuser --`."""
    for word in words:
        for inner in re.findall(r"\$\(([^()]*)\)", word):
            yield from simple_commands(inner)
    while words and (words[0] in KEYWORDS or re.match(r"\w+=", words[0])):
        words = words[1:]
    if not words or words[0] == "$":
        return
    if "--" in words and words[0] == "runuser":
        yield from _with_inner(words[words.index("--") + 1 :])
    else:
        yield words


def repository_path(word: str) -> Path | None:
    """Return the file of this repository that a word names, or None."""
    is_ours = re.match(r"(\./)?(deploy|docs|tests|benchmarks|\.ci|migrations)/[\w.*/-]+$", word)
    return ROOT / word if is_ours else None

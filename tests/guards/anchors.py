"""Find the code of a guard in the function that its entry names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.guards.notation import Change

# Folders that are not part of the product.
NOT_THE_PRODUCT = ("tests", "benchmarks", "migrations")

_STRING_OR_COMMENT = re.compile(
    r"(?P<q>\"{3}|'{3})(?:\\.|(?!(?P=q)).)*(?P=q)"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|(?P<comment>#[^\n]*)",
    re.DOTALL,
)
_COMMENT_OF_SQL = re.compile(r"^[ \t]*-- [^\n]*|\\$", re.MULTILINE)
_NAMED = re.compile(r"^\s*(?:(?:async )?(?:def|class) (\w+)|(\w+)(?:: .+)? = )", re.MULTILINE)


class LostError(Exception):
    """The guard's code was not found, or was found in more than one place."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The place of a function, class, assigned name or module in a file's text."""

    name: str
    start: int
    end: int


class Source:
    """A file of the product, parsed on demand."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.is_python = path.endswith(".py") or "." not in path
        has_module = self.is_python or path.endswith(".sql")
        bare = path.removesuffix(".py").removesuffix(".sql").removesuffix("/__init__")
        self.module = bare.replace("/", ".") if has_module else path

    @property
    def may_name(self) -> set[str]:
        """Return the names that the file's scopes may have, without their parents' names."""
        module = self.module.rpartition(".")[2]
        return {module, *(name for match in _NAMED.finditer(self.text) for name in match.groups())}

    @cached_property
    def without_comments(self) -> str:
        """Return the text with comments replaced by blanks."""

        def blank(match: re.Match[str]) -> str:
            return " " * len(match[0])

        if not self.is_python:
            return re.sub(r"(?m)^\s*(?:#|-- )[^\n]*", blank, self.text)
        text = _STRING_OR_COMMENT.sub(lambda m: blank(m) if m["comment"] else m[0], self.text)
        return _COMMENT_OF_SQL.sub(blank, text)

    @cached_property
    def scopes(self) -> list[Scope]:
        """Return the module's scope, then every scope in the module."""
        whole = Scope(self.module, 0, len(self.text))
        if not self.is_python:
            return [whole]
        starts = [0, *(end.end() for end in re.finditer(r"\n|\Z", self.text))]
        return [whole, *_named_in(ast.parse(self.text, self.path).body, "", starts)]


@dataclass(frozen=True, slots=True)
class Found:
    """The place of a change: its file, and replacements as start, end, new text."""

    source: Source
    edits: tuple[tuple[int, int, str], ...]


class Tree:
    """The source code of the product: every file by its path."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.sources = [Source(path, text) for path, text in sorted(files.items())]
        self._by_name: dict[str, list[Source]] = defaultdict(list)
        for source in self.sources:
            for name in source.may_name:
                self._by_name[name].append(source)

    @classmethod
    def at(cls, root: Path) -> Tree:
        """Read a checkout: the packages, functions in SQL, entry script and deployment."""
        packages = [p.parent.name for p in root.glob("*/__init__.py")]
        product = [name for name in packages if name not in NOT_THE_PRODUCT]
        paths = [root / "homing", root / "manage.py", *root.glob("deploy/**/*.conf")]
        for folder in [*product, "deploy"]:
            paths += root.glob(f"{folder}/**/*.py")
            paths += root.glob(f"{folder}/**/sql/*.sql")
        return cls({str(p.relative_to(root)): p.read_text() for p in paths if p.is_file()})

    def find(self, change: Change) -> Found:
        """Find the place of a change. Raises `LostError`."""
        named = list(self._named(change.where))
        places = {
            (source.path, match.start()): (source, match)
            for source, scope in named
            for match in change.pattern.finditer(source.without_comments, scope.start, scope.end)
        }
        if len(places) == 1:
            ((source, match),) = places.values()
            return Found(source, tuple(_edits(source, match, change.texts)))
        paths = ", ".join(sorted({path for path, _ in places})[:4])
        there = "is not in it" if named else "has no function of that name to be in"
        if places:
            there = f"is in {len(places)} places, {paths}"
        fault = f"{change.where} has lost its anchor: `{change.plain}` {there}."
        raise LostError(f"{fault} Update the entry.")

    def _named(self, where: str) -> Iterator[tuple[Source, Scope]]:
        """Find every scope with this name. Use `module:name` if the name is ambiguous."""
        module, _, name = where.rpartition(":")
        sources = self._by_name.get(name.rpartition(".")[2], [])
        if "/" in where:
            sources = [source for source in self.sources if source.path == where]
        for source in sources:
            for scope in source.scopes:
                if _ends_with(scope.name, name) and _ends_with(source.module, module):
                    yield source, scope


def without(found: Iterable[Found]) -> dict[str, str]:
    """Return the text of each file with the changes made.

    A block that would become empty gets a `pass`. Raises `SyntaxError` if a text is not Python.
    """
    edits: dict[Source, list[tuple[int, int, str]]] = defaultdict(list)
    for one in found:
        edits[one.source] += one.edits
    texts: dict[str, str] = {}
    for source, ours in edits.items():
        for nothing in ("", "pass"):
            text = source.text
            for start, end, new in sorted(ours, reverse=True):
                text = text[:start] + (new or nothing) + text[end:]
            texts[source.path] = text
            if not source.is_python:
                break
            try:
                compile(text, source.path, "exec")
                break
            except SyntaxError:
                if nothing:
                    raise
    return texts


def _edits(
    source: Source, match: re.Match[str], texts: Sequence[str]
) -> Iterator[tuple[int, int, str]]:
    for number, text in enumerate(texts, 1):
        start, end = match.span(number)
        if start == end and text:
            after = text if text.endswith("¶") else f"{text} "
            text = f" {text}" if start > match.start() else after
        line = source.text[source.text.rfind("\n", 0, start) + 1 :]
        indentation = line[: len(line) - len(line.lstrip(" "))]
        yield start, end, re.sub(r"\s*¶", f"\n{indentation}", text)


def _ends_with(name: str, tail: str) -> bool:
    return not tail or f".{name}".endswith(f".{tail}")


def _named_in(
    body: Sequence[ast.stmt], within: str, starts: Sequence[int], *, is_function: bool = False
) -> Iterator[Scope]:
    """Yield the functions, classes and assigned names in a body, also nested ones."""
    for node in body:
        first, names, deeper = node.lineno, [], within
        inner = [getattr(node, part, []) for part in ("body", "orelse", "finalbody")]
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names, deeper = [node.name], f"{within}{node.name}."
                first = min([first, *(one.lineno for one in node.decorator_list)])
            case ast.Assign() if not is_function:
                names = [one.id for one in node.targets if isinstance(one, ast.Name)]
            case ast.AnnAssign(target=ast.Name() as target) if not is_function:
                names = [target.id]
        for name in names:
            yield Scope(f"{within}{name}", starts[first - 1], starts[node.end_lineno or first])
        inside = is_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for part in inner:
            yield from _named_in(part, deeper, starts, is_function=inside)

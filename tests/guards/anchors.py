"""Find the code of a guard by its function, even if that was moved or renamed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.guards.notation import Change, Mark
from tests.guards.source import Scope, Source

_Where = Sequence[tuple[Source, Scope | None]]

# Folders that are not part of the product.
NOT_THE_PRODUCT = ("tests", "benchmarks", "migrations")


class LostError(Exception):
    """The guard's code was not found, or was found in more than one place."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement in a file: where it starts and ends, and the new text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """The place of a change; `note` says how to update an outdated entry."""

    source: Source
    edits: tuple[Edit, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    source: Source
    first: int

    @property
    def name(self) -> str:
        start = self.source.tokens[self.source.firm[self.first]].start
        return f"{self.source.path}: {self.source.innermost(start)}"


class Tree:
    """The product's source: every file by its path."""

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
        """Find where to make a change. Raises `LostError`."""
        words = change.words
        named = list(self._named(change.where))
        if place := _only_one(change, _exactly(words, named)):
            return _found(place, change, {})
        # It was moved out of its class or module, or renamed within its class.
        apart = re.split(r"[.:]", change.where)
        alike = named or [*self._named(apart[-1]), *self._named(apart[-2] if apart[1:] else "-")]
        everywhere = [(source, None) for source in self.sources]
        place = _only_one(change, _exactly(words, alike))
        if place is None:
            moved, renamed = _exactly(words, everywhere), _renamed(words, alike)
            # A single match in the named function wins over several matches elsewhere.
            likely = renamed if len(renamed) == 1 != len(moved) else moved | renamed
            place = _only_one(change, likely or _renamed(words, everywhere))
        if place is None:
            there = "is not in it" if named else "is nowhere, and its function is missing"
            fault = f"{change.where} has lost its anchor: `{change.plain}` {there}."
            raise LostError(f"{fault} Update the entry.")
        names = dict(zip(words, place.source.words_at(place.first, len(words)), strict=True))
        other = {was: now for was, now in names.items() if was != now}
        renamed_text = f", with {', '.join(f'{now} for {was}' for was, now in other.items())}"
        note = f"{change.where} is now {place.name}{renamed_text if other else ''}"
        return _found(place, change, other, note)

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
    edits: dict[Source, list[Edit]] = defaultdict(list)
    for one in found:
        edits[one.source] += one.edits
    texts: dict[str, str] = {}
    for source, ours in edits.items():
        for nothing in ("", "pass"):
            text = source.text
            for edit in sorted(ours, key=lambda one: one.start, reverse=True):
                text = text[: edit.start] + (edit.text or nothing) + text[edit.end :]
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


def _exactly(words: Sequence[str], where: _Where) -> set[_Place]:
    return {_Place(source, at) for source, scope in where for at in source.exactly(words, scope)}


def _renamed(words: Sequence[str], where: _Where) -> set[_Place]:
    """Find these words where the fewest words were changed, and at most half of them."""
    kept = {
        _Place(source, at): len({*words} & {*source.words_at(at, len(words))})
        for source, scope in where
        for at in source.renamed(words, scope)
    }
    most = max(kept.values(), default=0)
    return {place for place, count in kept.items() if count == most >= len({*words}) / 2}


def _only_one(change: Change, places: Iterable[_Place]) -> _Place | None:
    found = list(places)
    if len(found) > 1:
        names = ", ".join(sorted({place.name for place in found})[:4])
        raise LostError(
            f"{change.where} has lost its anchor: `{change.plain}` is in {len(found)} places, "
            f"{names}. Add words around it to the entry."
        )
    return found[0] if found else None


def _ends_with(name: str, tail: str) -> bool:
    return not tail or f".{name}".endswith(f".{tail}")


def _found(place: _Place, change: Change, names: Mapping[str, str], note: str = "") -> Found:
    source = place.source
    there = _tokens_there(source, place.first, change)

    def edit(mark: Mark) -> Edit:
        goes = [token for token in there[mark.first : mark.end] if token is not None]
        if goes:
            start, end = source.tokens[goes[0]].start, source.tokens[goes[-1]].end
        elif before := [token for token in there[: mark.first] if token is not None]:
            start = end = source.tokens[before[-1]].end
        else:
            start = end = source.tokens[next(t for t in there if t is not None)].start
        text = re.sub(r"[^\W\d]\w*", lambda word: names.get(word[0], word[0]), mark.text)
        if not goes and text:
            text = f" {text}" if mark.first else text if text.endswith("¶") else f"{text} "
        line = source.text[source.text.rfind("\n", 0, start) + 1 :]
        indentation = line[: len(line) - len(line.lstrip(" "))]
        return Edit(start, end, re.sub(r"\s*¶", f"\n{indentation}", text))

    return Found(source, tuple(edit(mark) for mark in change.marks), note)


def _tokens_there(source: Source, first: int, change: Change) -> list[int | None]:
    """Map each token of the fragment to a token of the file.

    A soft token (a quote, a comma) may have none.
    """
    firm = iter(source.firm[first:])
    there: list[int | None] = [None if token.soft else next(firm) for token in change.tokens]
    for way in (1, -1):
        last: int | None = None
        for place in range(len(there))[::way]:
            beside = None if last is None else last + way
            if there[place] is not None:
                last = there[place]
            elif beside in range(len(source.tokens)) and (
                source.tokens[beside].text == change.tokens[place].text
            ):
                there[place] = last = beside
    return there

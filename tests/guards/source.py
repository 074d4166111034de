"""The product's source as tokens, and the scopes that can hold a guard.

Tokens are words and signs. A comparison ignores whitespace, comments, quotes and the comma before a
closing bracket. So text matches in any layout, in Python and in SQL inside a string.
"""

import ast
import keyword
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

# Keywords of SQL. These and Python's cannot be renamed; any other word can.
_SQL = (
    "ALL|AND|ANY|AS|ASC|BY|CASE|CONFLICT|DELETE|DESC|DO|ELSE|END|EXISTS|FALSE|FOR|FROM|GROUP|"
    "HAVING|IN|INSERT|INTO|IS|JOIN|KEY|LEFT|LIMIT|LOCAL|LOCKED|NO|NOT|NOTHING|NOWAIT|NULL|OLD|ON|"
    "OR|ORDER|RETURNING|SELECT|SET|SHARE|SKIP|TABLE|THEN|TRUE|UPDATE|USING|VALUES|WHEN|WHERE|WITH"
)
_NAME = re.compile(rf"(?!(?:{'|'.join(keyword.kwlist)}|{_SQL})$)[^\W\d]\w*")

_QUOTE = r"(?P<quote>[rbfuRBFU]{0,2}(?:\"{3}|'{3}|[\"']))"
_TOKEN = re.compile(rf"{_QUOTE}|\w+|[<>=!:+-]=|<>|[|:*/]{{2}}|->|[^\w\s]")
_STRING_OR_COMMENT = re.compile(
    r"(?P<q>\"{3}|'{3})(?:\\.|(?!(?P=q)).)*(?P=q)"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|(?P<comment>#[^\n]*)",
    re.DOTALL,
)
_NAMED = re.compile(r"^\s*(?:(?:async )?(?:def|class) (\w+)|(\w+)(?:: .+)? = )", re.MULTILINE)
_COMMENT_OF_SQL = re.compile(r"^[ \t]*-- [^\n]*|\\$", re.MULTILINE)


class Token(NamedTuple):
    """A word or sign; a `soft` one may be missing or added in a match."""

    text: str
    start: int
    end: int
    soft: bool


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a fragment, or of a file with its comments blanked out."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(text):
        is_quote = match["quote"] is not None
        if not is_quote and match[0] in ")]}" and tokens and tokens[-1].text == ",":
            tokens[-1] = tokens[-1]._replace(soft=True)
        tokens.append(Token('"' if is_quote else match[0], *match.span(), is_quote))
    return tokens


def as_line(words: Sequence[str]) -> str:
    """Join words, so that they can be searched as text."""
    return f" {' '.join(words)} "


def shape(words: Sequence[str]) -> list[str]:
    """Replace each name among the words with a placeholder."""
    return ["§" if _NAME.fullmatch(word) else word for word in words]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a function, class, assigned name or module is in a file's text."""

    name: str
    start: int
    end: int


class Source:
    """A file of the product, parsed on demand."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.is_python = path.endswith(".py") or "." not in path
        self.is_sql = path.endswith(".sql")
        bare = path.removesuffix(".py").removesuffix(".sql").removesuffix("/__init__")
        self.module = bare.replace("/", ".")

    @property
    def may_name(self) -> set[str]:
        """The names that its scopes may have, without their parents' names."""
        module = self.module.rpartition(".")[2]
        return {module, *(name for match in _NAMED.finditer(self.text) for name in match.groups())}

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens of the file."""
        return tokens_of(_without_comments(self.text, self.is_python))

    @cached_property
    def firm(self) -> list[int]:
        """The numbers of the tokens that are not soft."""
        return [place for place, token in enumerate(self.tokens) if not token.soft]

    @cached_property
    def scopes(self) -> list[Scope]:
        """The module, then every scope in it."""
        has_module = self.is_python or self.is_sql
        whole = Scope(self.module if has_module else self.path, 0, len(self.text))
        if not self.is_python:
            return [whole]
        starts = [0, *(end.end() for end in re.finditer(r"\n|\Z", self.text))]
        return [whole, *_named_in(ast.parse(self.text, self.path).body, "", starts)]

    def innermost(self, offset: int) -> str:
        """Return the name of the smallest scope around a place in the text."""
        around = [one for one in self.scopes if one.start <= offset < one.end]
        return min(around, key=lambda one: one.end - one.start).name

    def exactly(self, words: Sequence[str], scope: Scope | None = None) -> Iterator[int]:
        """Find these words; yield the number of the first firm token at each place."""
        return self._found(self._line, words, scope)

    def renamed(self, words: Sequence[str], scope: Scope | None = None) -> Iterator[int]:
        """Find these words with other names; each name must be replaced consistently."""
        for first in self._found(self._shapes, shape(words), scope):
            there = self._words[first : first + len(words)]
            pairs = set(zip(words, there, strict=True))
            if len(pairs) == len(set(words)) == len(set(there)) and list(words) != there:
                yield first

    def words_at(self, first: int, count: int) -> list[str]:
        """Return the words of `count` firm tokens."""
        return self._words[first : first + count]

    @cached_property
    def _words(self) -> list[str]:
        return [self.tokens[place].text for place in self.firm]

    @cached_property
    def _starts(self) -> list[int]:
        return [self.tokens[place].start for place in self.firm]

    @cached_property
    def _line(self) -> tuple[str, list[int]]:
        return _searchable(self._words)

    @cached_property
    def _shapes(self) -> tuple[str, list[int]]:
        return _searchable(shape(self._words))

    def _found(
        self, row: tuple[str, list[int]], words: Sequence[str], scope: Scope | None
    ) -> Iterator[int]:
        line, offsets = row
        wanted = as_line(words)
        first, last = 0, len(offsets)
        if scope is not None:
            first, last = (bisect_left(self._starts, at) for at in (scope.start, scope.end))
        if first >= last:
            return
        end = offsets[last] if last < len(offsets) else len(line)
        at = line.find(wanted, offsets[first], end + 1)
        while at >= 0:
            yield bisect_left(offsets, at)
            at = line.find(wanted, at + 1, end + 1)


def _searchable(words: Sequence[str]) -> tuple[str, list[int]]:
    """Join the words to one line; also return the place of each space in it."""
    offsets, at = [], 0
    for word in words:
        offsets.append(at)
        at += len(word) + 1
    return as_line(words), offsets


def _without_comments(text: str, is_python: bool) -> str:
    """Return the text with spaces instead of comments."""

    def blank(match: re.Match[str]) -> str:
        return " " * len(match[0])

    if not is_python:
        return re.sub(r"(?m)^\s*(?:#|-- )[^\n]*", blank, text)
    text = _STRING_OR_COMMENT.sub(lambda m: blank(m) if m["comment"] else m[0], text)
    return _COMMENT_OF_SQL.sub(blank, text)


def _named_in(
    body: Sequence[ast.stmt], within: str, starts: Sequence[int], *, is_function: bool = False
) -> Iterator[Scope]:
    """Yield the functions, classes and assigned names of a body, with nested ones."""
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

"""Select guards by changed files, and tests by name."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.guards.anchors import LostError, Tree
from tests.guards.notation import Guard, guards

_DEFINED = re.compile(r"^( *)(?:class (\w+)|(?:async )?def (test_\w+))", re.MULTILINE)
_CATALOGUE = "tests/guards/catalogue/"


class NamedTests:
    """Every test in tests/, by its name."""

    def __init__(self, root: Path) -> None:
        self._by_name: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for path in sorted(root.glob("tests/**/*.py")):
            group = ""
            for indentation, new_group, test in _DEFINED.findall(path.read_text()):
                group = new_group if not indentation else group
                if test:
                    inside = [group] if indentation else []
                    names = (str(path.relative_to(root)), *inside, test)
                    self._by_name[test].append(names)

    def node(self, name: str) -> str:
        """Return the node id of a test that the catalogue names.

        If several tests have the same name, the catalogue names one of them as `file::test_x` or
        `folder::test_x`. Raises `LostError`.
        """
        plain, bracket, case = name.partition("[")
        *around, test = plain.split("::")
        known = [(*Path(names[0]).with_suffix("").parts, *names[1:]) for names in self._of(test)]
        wanted = (*around, test)
        found = [n for n, parts in enumerate(known) if parts[-len(wanted) :] == wanted] or [
            n for n, parts in enumerate(known) if set(around) <= set(parts)
        ]
        if len(found) != 1:
            hint = "add its file or folder, as in file::test_x" if found else "correct the name"
            raise LostError(f"{len(found)} tests are called {plain}: {hint}.")
        return "::".join(self._of(test)[found[0]]) + bracket + case

    def _of(self, test: str) -> list[tuple[str, ...]]:
        return self._by_name.get(test, [])


def changed_since(
    revision: str, catalogue: Iterable[Guard], tree: Tree, tests: NamedTests, root: Path
) -> list[Guard]:
    """Return guards whose function, test, constraint or entry is in a changed file."""
    listed = _git(root, "diff", "--name-only", revision).split()
    files = {*listed, *_git(root, "ls-files", "--others", "--exclude-standard").split()}
    migrated = "".join(
        (root / name).read_text()
        for name in files
        if "migrations/" in name or name.endswith(".sql")
        if (root / name).is_file()
    )
    before: set[Guard] = set()
    if any(name.startswith(_CATALOGUE) for name in files):
        for name in _git(root, "ls-tree", "-r", "--name-only", revision, "tests/guards/").split():
            if name.startswith(_CATALOGUE):
                before.update(_entries(_git(root, "show", f"{revision}:{name}")))
    else:
        before.update(catalogue)

    def is_changed(guard: Guard) -> bool:
        try:
            where = {tree.find(change).source.path for change in guard.changes}
            where.update(tests.node(test).partition("::")[0] for test in guard.tests)
        except LostError:
            # Include the guard, so that the run reports the fault in its entry.
            return True
        return (
            guard not in before
            or not where.isdisjoint(files)
            or any(name in migrated for name in names_in(guard.sql))
        )

    return [guard for guard in catalogue if is_changed(guard)]


def names_in(sql: str) -> list[str]:
    """Return constraints, triggers, indexes and functions that a statement drops."""
    return re.findall(r"DROP (?:CONSTRAINT|TRIGGER|INDEX|FUNCTION) (\w+)", sql)


def _entries(text: str) -> list[Guard]:
    """Return the entries in another version of a catalogue file."""
    texts = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    try:
        return guards(max((one for one in texts if isinstance(one, str)), key=len))
    except (ValueError, IndexError):
        return []


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, check=True, text=True).stdout

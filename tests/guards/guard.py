"""What an entry of the catalogue is: a promise, how to break it, and the tests that notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Change:
    """
    `as_built` stands exactly once in `file`; `taken_out` takes its place.

    Where `as_built` is empty, `taken_out` is put at the end of the file.
    """

    file: str
    as_built: str
    taken_out: str

    def fault_in(self, root: Path) -> str:
        """Why this change cannot be made in a tree; empty if it can."""
        path = root / self.file
        if not path.is_file():
            return f"there is no file {self.file}"
        times = path.read_text().count(self.as_built) if self.as_built else 1
        return "" if times == 1 else f"stands {times} times in {self.file}: {self.as_built!r}"

    def fault_of(self, text: str) -> str:
        """Why a text without the guard is no Python, where it should be; empty if it is."""
        if not self.file.endswith(".py"):
            return ""
        try:
            compile(text, self.file, "exec")
        except SyntaxError as error:
            return f"without it {self.file} is no Python: {error}"
        return ""

    def made_in(self, text: str) -> str:
        """The file's text without the guard."""
        if not self.as_built:
            return text + self.taken_out
        return text.replace(self.as_built, self.taken_out)


@dataclass(frozen=True, slots=True)
class Guard:
    """
    One guard, named by what it promises, and the node ids of tests that must fail without it.

    Several `changes` are one guard and what covers for it: alone it could go without harm. `why`
    says what covers for it.
    """

    promise: str
    changes: tuple[Change, ...]
    tests: tuple[str, ...]
    why: str = ""

    @property
    def is_in_a_migration(self) -> bool:
        """Whether the database has to be built anew to be without it."""
        return any(change.file.startswith("migrations/") for change in self.changes)


def guard(promise: str, file: str, as_built: str, taken_out: str, *tests: str) -> Guard:
    """A guard that stands in one place."""
    return Guard(promise, (Change(file, as_built, taken_out),), tests)


def covered(promise: str, why: str, changes: tuple[Change, ...], *tests: str) -> Guard:
    """A guard that another one covers: both are taken out together."""
    return Guard(promise, changes, tests, why)


def constraint(name: str, table: str, file: str, *tests: str, named: str = "") -> Guard:
    """
    A constraint of the database, dropped again in the migration that adds it.

    `named` is how the migration names it where the name alone stands there more than once.
    """
    as_built = named or f'name="{name}"'
    end = "Migration.operations.append(migrations.RunSQL("
    return Guard(
        f"the database itself holds: {name.replace('_', ' ')}",
        (
            Change(f"migrations/{file}.py", as_built, as_built),
            Change(
                f"migrations/{file}.py",
                "",
                f'\n{end}"ALTER TABLE {table} DROP CONSTRAINT {name}"))\n',
            ),
        ),
        tests,
    )

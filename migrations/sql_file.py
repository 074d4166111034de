"""A migration operation that runs one of Homing's `.sql` files."""

import re
from pathlib import Path
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

ROOT = Path(__file__).resolve().parent.parent

# The statements in a file that create something, with the kind and the name to drop.
_CREATED = re.compile(
    r"^CREATE (?:OR REPLACE )?(?P<kind>FUNCTION|SEQUENCE|INDEX) (?P<name>\w+)"
    r"|^CREATE (?:OR REPLACE |CONSTRAINT )?TRIGGER (?P<trigger>\w+).*?\bON (?P<of>\w+)"
    r"|^ALTER TABLE (?P<table>\w+) ADD CONSTRAINT (?P<constraint>\w+)",
    re.MULTILINE | re.DOTALL,
)


class SqlFile(Operation):
    """Run a file, such as `delivery/queue/sql/claim_batch.sql`.

    To change a function, change its file and run it again in a new migration. If the code calls the
    function, give it a name with the next number, because workers of the previous release still
    call the old function. The next release drops the old function. A trigger keeps its name: both
    releases share it.
    """

    reduces_to_sql = True

    def __init__(self, path: str) -> None:
        self.path = path

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Change no model."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Run the file."""
        schema_editor.execute((ROOT / self.path).read_text(), params=None)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Drop everything that the file created, in the reverse order."""
        for drop in reversed(drops((ROOT / self.path).read_text())):
            schema_editor.execute(drop, params=None)

    def describe(self) -> str:
        return f"Run {self.path}"


def drops(sql: str) -> list[str]:
    """Return the statements that drop what `sql` creates, in the order of creation."""
    return [_drop(match) for match in _CREATED.finditer(sql)]


def _drop(created: re.Match[str]) -> str:
    found: dict[str, Any] = created.groupdict()
    if found["kind"]:
        return f"DROP {found['kind']} IF EXISTS {found['name']}"
    if found["trigger"]:
        return f"DROP TRIGGER IF EXISTS {found['trigger']} ON {found['of']}"
    return f"ALTER TABLE {found['table']} DROP CONSTRAINT IF EXISTS {found['constraint']}"

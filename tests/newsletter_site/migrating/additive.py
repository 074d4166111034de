"""Find changes that are unsafe while workers of the previous release run.

Old code reads and writes every table of its release. So a migration must not remove or rename
parts of them, change their meaning, or refuse old code's values. A statement must not lock a table
for longer than a change of the catalogue takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres import operations as postgres
from django.db.migrations import Migration
from django.db.migrations import operations as django
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import CheckConstraint, Field, GeneratedField, Value
from django.db.models.fields import NOT_PROVIDED
from django.db.models.functions import Now

from migrations.sql_file import ROOT, SqlFile

LATER = "take it away a release later"

# Operations that do not change the database, or are instant and safe for old code.
HARMLESS = (
    django.AlterModelOptions,
    django.AlterModelManagers,
    django.AlterModelTableComment,
    postgres.AddConstraintNotValid,
)
LOCK_NOTHING = (django.AlterModelOptions, django.AlterModelManagers, SqlFile)
CONCURRENT = (postgres.AddIndexConcurrently, postgres.RemoveIndexConcurrently)

# The lines of a file that creates only functions, as far as they are not indented.
FUNCTION_LINES = (
    "CREATE OR REPLACE FUNCTION",
    "RETURNS",
    "LANGUAGE",
    "AS",
    "DECLARE",
    "BEGIN",
    "END",
)

WHAT_TO_DO: Mapping[type[Operation], str] = {
    django.RemoveField: f"old code still reads that column; {LATER}",
    django.DeleteModel: f"old code still reads that table; {LATER}",
    django.RenameField: f"add a column with the new name; {LATER} the old one",
    django.RenameModel: f"add a table with the new name; {LATER} the old one",
    django.AlterModelTable: f"add a table with the new name; {LATER} the old one",
    django.AddIndex: "use AddIndexConcurrently in a migration with atomic = False",
    django.RemoveIndex: "use RemoveIndexConcurrently in a migration with atomic = False",
    django.RenameIndex: "add the new index, and remove the old one, concurrently",
    django.AddConstraint: "use AddConstraintNotValid, and ValidateConstraint in a later migration",
    django.AlterUniqueTogether: "build a unique index concurrently",
    django.AlterIndexTogether: "use AddIndexConcurrently",
    django.RunSQL: "say in EXCEPTIONS why it takes no long lock and no long time",
    django.RunPython: "say in EXCEPTIONS why it takes no long lock and no long time",
}


@dataclass(frozen=True, slots=True)
class UnsafeOperation:
    """A change that breaks old code or blocks busy tables, and what to do instead."""

    migration: str
    operation: str
    instead: str

    def __str__(self) -> str:
        return f"{self.migration}: {self.operation}: {self.instead}"


# Maps (migration, operation) of an UnsafeOperation to the reason why it is allowed. The test fails
# if an exception is not needed.
EXCEPTIONS: Mapping[tuple[str, str], str] = {}


def unsafe_operations(
    plan: Iterable[Migration], before: ProjectState, ours: Iterable[str]
) -> list[UnsafeOperation]:
    """Find unsafe operations in `plan` for the apps `ours`, from the state `before`.

    Tables that the plan itself creates may be changed freely.
    """
    fresh: set[tuple[str, str]] = set()
    unsafe: list[UnsafeOperation] = []
    state = before.clone()
    known = set(ours)
    for migration in plan:
        if migration.app_label in known:
            unsafe += unsafe_operations_of(migration, state, fresh)
        state = migration.mutate_state(state, preserve=True)
    return unsafe


def unsafe_operations_of(
    migration: Migration, state: ProjectState, fresh: set[tuple[str, str]]
) -> list[UnsafeOperation]:
    """Find the unsafe operations of one migration. Add its new tables to `fresh`."""
    unsafe = []
    locked: set[tuple[str, str]] = set()
    not_valid: set[str] = set()
    name = f"{migration.app_label}.{migration.name}"

    def report(operation: Operation, instead: str) -> None:
        unsafe.append(UnsafeOperation(name, str(operation.describe()), instead))

    for operation in _in_the_database(migration.operations):
        table = _table_of(operation, migration.app_label)
        if isinstance(operation, django.CreateModel):
            fresh.add(table)
            locked |= _tied_to(operation.fields, migration.app_label) - fresh
        elif table in fresh:
            pass
        elif instead := _advice_on(operation, migration, state, not_valid):
            report(operation, instead)
        elif not isinstance(operation, LOCK_NOTHING):
            locked.add(table)
        if isinstance(operation, postgres.AddConstraintNotValid):
            not_valid.add(operation.constraint.name)
        operation_state = state.clone()
        operation.state_forwards(migration.app_label, operation_state)
        state = operation_state
    if len(locked) > 1:
        tables = ", ".join(sorted(f"{app}.{model}" for app, model in locked))
        unsafe.append(
            UnsafeOperation(
                name,
                f"locks {tables}",
                "use one migration for each table: while it waits for a second lock, all "
                "sessions wait for the first",
            )
        )
    return unsafe


def _in_the_database(operations: Iterable[Operation]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, django.SeparateDatabaseAndState):
            yield from _in_the_database(operation.database_operations)
        else:
            yield operation


def _table_of(operation: Operation, app: str) -> tuple[str, str]:
    named = getattr(operation, "model_name", None) or getattr(operation, "name", None) or ""
    return app, str(named).lower()


def _tied_to(fields: Iterable[tuple[str, Field[Any, Any]]], app: str) -> set[tuple[str, str]]:
    """Return the tables that the constraints of these fields refer to and lock."""
    tied = set()
    for _, field in fields:
        remote = getattr(field, "remote_field", None)
        if remote is not None and getattr(field, "db_constraint", False):
            label = getattr(remote.model, "_meta", None)
            target = label.label_lower if label else str(remote.model).lower()
            tied.add((app, target) if "." not in target else tuple(target.split(".", 1)))
    return tied


def _advice_on(
    operation: Operation, migration: Migration, state: ProjectState, not_valid: set[str]
) -> str:
    """Return what to do instead of `operation` on an old table; empty if it is safe."""
    if isinstance(operation, CONCURRENT):
        return "" if not migration.atomic else "set atomic = False for a migration with it alone"
    if not migration.atomic:
        return "leave only concurrent operations in a migration without a transaction"
    if isinstance(operation, HARMLESS):
        return ""
    if isinstance(operation, SqlFile):
        statements = re.findall(r"^[A-Z]+.*", (ROOT / operation.path).read_text(), re.MULTILINE)
        is_function = all(one.startswith(FUNCTION_LINES) for one in statements)
        return "" if is_function else WHAT_TO_DO[django.RunSQL]
    if isinstance(operation, django.RemoveConstraint):
        model = state.models[migration.app_label, operation.model_name_lower]
        what = model.get_constraint_by_name(operation.name)
        # Removing a constraint cannot refuse a value.
        return "" if isinstance(what, CheckConstraint) else f"old code relies on it; {LATER}"
    if isinstance(operation, postgres.ValidateConstraint):
        return "" if operation.name not in not_valid else "validate it in a later migration"
    if isinstance(operation, django.AddField):
        return _advice_on_new(operation.field)
    if isinstance(operation, django.AlterField):
        model = state.models[migration.app_label, operation.model_name_lower]
        return _advice_on_change(model.get_field(operation.name), operation.field)
    return next(
        (what for kind, what in WHAT_TO_DO.items() if type(operation) is kind),
        "it is not known to be safe beside workers",
    )


def _advice_on_new(field: Field[Any, Any]) -> str:
    if field.many_to_many:
        return ""  # A separate table.
    if isinstance(field, GeneratedField):
        return "the whole table is written anew; fill an ordinary column"
    if field.unique or getattr(field, "db_index", False):
        return "an index is built under the lock; add a bare column, then the index concurrently"
    if getattr(field, "db_constraint", False):
        return "every row is checked under the lock; use db_constraint=False"
    if field.db_default is not NOT_PROVIDED and not _is_steady(field.db_default):
        return "the whole table is written anew; only a fixed value or Now() costs nothing"
    if not field.null and field.db_default is NOT_PROVIDED:
        return "old code does not know that column; let it be null or give it a db_default"
    return ""


def _is_steady(default: Any) -> bool:
    return isinstance(default, (Value, Now)) or not hasattr(default, "resolve_expression")


def _advice_on_change(old: Field[Any, Any], new: Field[Any, Any]) -> str:
    """Return what to do instead of a change. A wider column or a default is safe."""
    before, after = _in_columns(old), _in_columns(new)
    if before == after:
        return ""
    if before.pop("null", False) and not after.pop("null", False):
        return "old code still writes nothing there; add a rule with AddConstraintNotValid"
    after.pop("null", None)
    least, most = before.pop("max_length", None), after.pop("max_length", None)
    if least != most and (least is None or (most is not None and most < least)):
        return "longer values of old code would be refused"
    if "db_default" in before and "db_default" not in after:
        return f"old code leaves that column out when it adds a row; {LATER}"
    before.pop("db_default", None)
    if "db_default" in after and not _is_steady(after.pop("db_default")):
        return "only a fixed value or Now() is known to cost nothing"
    return "" if before == after else "add a new column, and fill it beside the old one"


def _in_columns(field: Field[Any, Any]) -> dict[str, Any]:
    """Return the properties of a field that its column has in the database."""
    _, path, args, options = field.deconstruct()
    bare = {name: value for name, value in options.items() if name not in field.non_db_attrs}
    return {"path": path, "args": args, "null": field.null, **bare}

"""Find changes that are unsafe while workers of the previous release run.

A migration must not remove or rename parts of tables that old code uses. It must not change the
meaning of these parts, or refuse values that old code writes. A statement may lock a table
only briefly, as changes of PostgreSQL's catalogue do. docs/upgrade.md says what to do instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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

# Keys are lines that `unsafe_operations` returns. Each value says why the operation is allowed, for
# example why a statement takes no long lock. The test fails if an entry is not needed.
EXCEPTIONS: Mapping[str, str] = {}

LOCK_NOTHING = (django.AlterModelOptions, django.AlterModelManagers, SqlFile)
CONCURRENT = (postgres.AddIndexConcurrently, postgres.RemoveIndexConcurrently)
# In a file that creates only functions, every line that is not indented begins with one of these
# words.
FUNCTION_LINES = (
    *("CREATE OR REPLACE FUNCTION", "RETURNS", "LANGUAGE", "AS", "DECLARE", "BEGIN", "END"),
)

Table = tuple[str, str]


def unsafe_operations(
    plan: Iterable[Migration], before: ProjectState, ours: Iterable[str]
) -> list[str]:
    """List the unsafe operations of `plan` on the apps `ours`, from state `before`.

    Tables that `plan` itself creates may be changed freely.
    """
    fresh: set[Table] = set()
    unsafe: list[str] = []
    state, known = before.clone(), set(ours)
    for migration in plan:
        if migration.app_label in known:
            found = _unsafe_in(migration, state.clone(), fresh)
            unsafe += [f"{migration.app_label}.{migration.name}: {one}" for one in found]
        state = migration.mutate_state(state, preserve=True)
    return unsafe


def _unsafe_in(migration: Migration, state: ProjectState, fresh: set[Table]) -> Iterator[str]:
    """Yield a migration's unsafe operations; add the tables it creates to `fresh`."""
    locked: set[Table] = set()
    not_valid: set[str] = set()
    for operation in _in_the_database(migration.operations):
        table = _table_of(operation, migration.app_label)
        if isinstance(operation, django.CreateModel):
            fresh.add(table)
            locked |= _tied_to(operation.fields, migration.app_label) - fresh
        elif table not in fresh:
            if not _is_safe(operation, migration, state, not_valid):
                yield str(operation.describe())
            elif not isinstance(operation, LOCK_NOTHING):
                locked.add(table)
        if isinstance(operation, postgres.AddConstraintNotValid):
            not_valid.add(operation.constraint.name)
        operation.state_forwards(migration.app_label, state)
    # While the migration waits for a second lock, all sessions wait for the first.
    if len(locked) > 1:
        yield f"locks {', '.join(sorted(f'{app}.{model}' for app, model in locked))}"


def _in_the_database(operations: Iterable[Operation]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, django.SeparateDatabaseAndState):
            yield from _in_the_database(operation.database_operations)
        else:
            yield operation


def _table_of(operation: Operation, app: str) -> Table:
    named = getattr(operation, "model_name", None) or getattr(operation, "name", None) or ""
    return app, str(named).lower()


def _tied_to(fields: Iterable[tuple[str, Field[Any, Any]]], app: str) -> set[Table]:
    """Return the tables that the constraints of these fields refer to and lock."""
    tied = set()
    for _, field in fields:
        remote = getattr(field, "remote_field", None)
        if remote is not None and getattr(field, "db_constraint", False):
            label = getattr(remote.model, "_meta", None)
            target = label.label_lower if label else str(remote.model).lower()
            tied.add((app, target) if "." not in target else tuple(target.split(".", 1)))
    return tied


def _is_safe(
    operation: Operation, migration: Migration, state: ProjectState, not_valid: set[str]
) -> bool:
    """Return whether an operation on an old table is known to be safe."""
    if not migration.atomic or isinstance(operation, CONCURRENT):
        # Without a transaction, any other operation could stop half done.
        return not migration.atomic and isinstance(operation, CONCURRENT)
    match operation:
        case (
            django.AlterModelOptions()
            | django.AlterModelManagers()
            | django.AlterModelTableComment()
            | postgres.AddConstraintNotValid()
        ):
            return True
        case SqlFile():
            statements = re.findall(r"^[A-Z]+.*", (ROOT / operation.path).read_text(), re.MULTILINE)
            return all(one.startswith(FUNCTION_LINES) for one in statements)
        case django.RemoveConstraint():
            # A unique constraint must stay, because ON CONFLICT in old code may need it.
            model = state.models[migration.app_label, operation.model_name_lower]
            return isinstance(model.get_constraint_by_name(operation.name), CheckConstraint)
        case postgres.ValidateConstraint():
            return operation.name not in not_valid
        case django.AddField():
            return _is_safe_to_add(operation.field)
        case django.AlterField():
            model = state.models[migration.app_label, operation.model_name_lower]
            return _is_safe_change(model.get_field(operation.name), operation.field)
    return False


def _is_safe_to_add(field: Field[Any, Any]) -> bool:
    """Return whether old code may omit the new column, and adding it rewrites no row."""
    return field.many_to_many or (
        not isinstance(field, GeneratedField)
        and not field.unique
        and not getattr(field, "db_index", False)
        and not getattr(field, "db_constraint", False)
        and _is_steady(field.db_default)
        and (field.null or field.db_default is not NOT_PROVIDED)
    )


def _is_steady(default: Any) -> bool:
    """Return whether a default, such as a fixed value or Now(), rewrites no rows."""
    return isinstance(default, (Value, Now)) or not hasattr(default, "resolve_expression")


def _is_safe_change(old: Field[Any, Any], new: Field[Any, Any]) -> bool:
    """Return whether a change only makes a column accept more, or sets a default."""
    before, after = _in_columns(old), _in_columns(new)
    least, most = before.pop("max_length", None), after.pop("max_length", None)
    default = after.pop("db_default", None)
    return (
        after.pop("null") >= before.pop("null")
        and (least == most or (least is not None and (most is None or most >= least)))
        and (before.pop("db_default", None) is None or default is not None)
        and _is_steady(default)
        and before == after
    )


def _in_columns(field: Field[Any, Any]) -> dict[str, Any]:
    """Return those properties of a field that are also in the database's column."""
    _, path, args, options = field.deconstruct()
    bare = {name: value for name, value in options.items() if name not in field.non_db_attrs}
    return {"path": path, "args": args, "null": field.null, **bare}

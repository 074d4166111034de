"""Database wrapper that reports statements to the watch."""

import re
from collections.abc import Callable
from typing import Any

from django.db.backends.postgresql import base

from tests.crash_points.points import watch

CHANGING = ("INSERT", "UPDATE", "DELETE", "MERGE")
CHANGES_INSIDE = re.compile(
    r"\b(INSERT INTO|DELETE FROM|MERGE INTO|UPDATE \w+ SET|FROM (claim|start|settle)_batch_\d+)\b"
)
LETTERS_NAMED = 44


class DatabaseWrapper(base.DatabaseWrapper):
    """Connection with points around statements, commits and changes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.execute_wrappers.append(self._watched)
        self._to_be_committed = False

    def _watched(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,
        context: dict[str, Any],
    ) -> Any:
        named = " ".join(str(sql).split())[:LETTERS_NAMED]
        watch.point(f"before {named}")
        result = execute(sql, params, many, context)
        if _has_changed(sql, context["cursor"].statusmessage):
            if self.get_autocommit():
                watch.changed()
                watch.point(f"after {named}")
            else:
                self._to_be_committed = True
        return result

    def _commit(self) -> None:
        watch.point("before COMMIT")
        super()._commit()
        if self._to_be_committed:
            self._to_be_committed = False
            watch.changed()
        watch.point("after COMMIT")

    def _rollback(self) -> None:
        self._to_be_committed = False
        super()._rollback()


def _has_changed(sql: str, status: str | None) -> bool:
    """Return whether a statement changed a row, by its status (`UPDATE 3`)."""
    words = (status or "").split()
    if words[:1] == ["SELECT"]:
        # The status of a function, or of WITH … UPDATE … SELECT, does not show changes.
        return bool(CHANGES_INSIDE.search(str(sql)))
    return bool(words) and words[0] in CHANGING and words[-1] != "0"

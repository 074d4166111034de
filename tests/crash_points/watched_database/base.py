"""The only place that tells the watch what is said to the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.backends.postgresql import base

from tests.crash_points.points import watch

CHANGING = ("INSERT", "UPDATE", "DELETE", "MERGE")
LETTERS_NAMED = 44


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection with points: before each statement, around each commit, after each change."""

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
        if _has_changed(context["cursor"].statusmessage):
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


def _has_changed(status: str | None) -> bool:
    """Whether a statement of this status (`UPDATE 3`) changed any row."""
    words = (status or "").split()
    return bool(words) and words[0] in CHANGING and words[-1] != "0"

"""Count the values of a file that are lost although their rows are imported."""

from typing import Any

_MOST_KINDS = 50  # most pairs of a column and a reason; a file may have thousands of columns
_MOST_EXAMPLES = 3
_LONGEST = 80  # characters of an example


class LostValues:
    """Counts lost values by column and reason, with a few examples of each."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, column: str, reason: str, line: int, value: str) -> None:
        """Count a value. `column` is the column's name in the description of the file."""
        found = self._found.get((column, reason))
        if found is None:
            if len(self._found) == _MOST_KINDS:
                column = ""  # the page's sentence then says “other columns”
            found = {"column": column, "reason": reason, "count": 0, "examples": []}
            found = self._found.setdefault((column, reason), found)
        found["count"] += 1
        if len(found["examples"]) < _MOST_EXAMPLES:
            shown = "".join(one if one.isprintable() else "\ufffd" for one in value[:_LONGEST])
            found["examples"].append([line, shown])

    def as_json(self) -> list[dict[str, Any]]:
        """Return the counts as an import stores them."""
        return list(self._found.values())

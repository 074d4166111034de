"""Guards are found in reformatted code, or reported as lost."""

import pytest

from tests.guards.anchors import LostError, Tree, without
from tests.guards.notation import Change

CLAIM = Change("Line.take", "if «row.state == 'ready' → True»: return claimed(row, cursor)")
AS_BUILT = """
class Line:
    def take(self, row, cursor):
        if row.state == "ready":
            return claimed(row, cursor)
"""
TAKEN_OUT = AS_BUILT.replace('row.state == "ready"', "True")


def taken_out(change: Change, **files: str) -> str:
    """Return the only changed text."""
    tree = Tree({f"delivery/{name}.py": text for name, text in files.items()})
    (text,) = without([tree.find(change)]).values()
    return text


def test_fragment_is_changed_in_the_function_it_names() -> None:
    other = "def take(row):\n    if row.state == 'ready':\n        return claimed(row, cursor)\n"

    assert taken_out(CLAIM, line=AS_BUILT, other=other) == TAKEN_OUT


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ('"ready"', "'ready'"),
        ("claimed(row, cursor)", "claimed(  # Its holder.\n                row,\n cursor,\n)"),
    ],
)
def test_layout_quotes_and_comments_do_not_matter(was: str, now: str) -> None:
    assert "if True:" in taken_out(CLAIM, line=AS_BUILT.replace(was, now))


def test_sql_matches_however_it_is_laid_out() -> None:
    change = Change("CLAIM", "WHERE state = 'ready' «AND due_at <= now()» ORDER BY pos")
    text = 'CLAIM = """\n  WHERE state = \'ready\'\n    -- The oldest.\n    {} ORDER\n  BY pos"""\n'

    assert taken_out(change, sql=text.format("AND due_at<=now()")) == text.format("")


def test_empty_block_gets_a_pass() -> None:
    change = Change("take", "if row: «close(row)»")

    assert taken_out(change, line="def take(row):\n    if row:\n        close(row)\n") == (
        "def take(row):\n    if row:\n        pass\n"
    )


def test_lines_are_added_with_the_indentation_around_them() -> None:
    change = Change("take", "row = first() «→ ¶if row:¶    close(row)»")

    assert taken_out(change, line="def take():\n    row = first()\n    return row\n") == (
        "def take():\n    row = first()\n    if row:\n        close(row)\n    return row\n"
    )


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"line": "def take():\n    return None\n"}, "has no function of that name to be in"),
        ({"line": "class Line:\n    def take(self): ...\n"}, "is not in it"),
        ({"line": AS_BUILT.replace("row", "batch")}, "is not in it"),
        ({"a": AS_BUILT, "b": AS_BUILT}, "is in 2 places, delivery/a.py, delivery/b.py"),
    ],
)
def test_lost_anchor_is_reported_in_a_sentence(files: dict[str, str], expected: str) -> None:
    with pytest.raises(LostError) as lost:
        taken_out(CLAIM, **files)

    assert str(lost.value).startswith("Line.take has lost its anchor: `if row.state == 'ready'")
    assert expected in str(lost.value)


def test_a_function_in_sql_is_found_by_its_file() -> None:
    text = "-- WHERE state = 'ready'\nSELECT id\nWHERE state = 'ready' AND due_at <= now();\n"
    change = Change("claim_batch", "WHERE state = 'ready' «AND due_at <= now()»;")
    found = Tree({"delivery/queue/sql/claim_batch.sql": text}).find(change)
    (changed,) = without([found]).values()
    assert changed == "-- WHERE state = 'ready'\nSELECT id\nWHERE state = 'ready' ;\n"


def test_a_module_name_distinguishes_functions_of_the_same_name() -> None:
    change = Change("b:Line.take", CLAIM.fragment)

    tree = Tree({"delivery/a.py": AS_BUILT, "delivery/b.py": AS_BUILT})

    assert tree.find(change).source.path == "delivery/b.py"

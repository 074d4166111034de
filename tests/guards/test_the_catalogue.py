"""The catalogue of guards cannot rot: every text it names is there, and so is every test."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.guards.catalogue import GUARDS
from tests.guards.guard import ROOT, Guard


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.promise)
def test_a_guard_stands_where_the_catalogue_says_and_its_tests_are_there(guard: Guard) -> None:
    assert [fault for change in guard.changes if (fault := change.fault_in(ROOT))] == []
    for change in guard.changes:
        text = (ROOT / change.file).read_text()
        assert change.made_in(text) != text or change.as_built == change.taken_out
        assert change.fault_of(change.made_in(text)) == ""
    assert guard.tests
    assert [test for test in guard.tests if _name(test) not in _tests_in(test)] == []


def test_no_two_guards_bear_one_name() -> None:
    assert [name for name, times in Counter(g.promise for g in GUARDS).items() if times > 1] == []


def test_what_is_taken_out_together_says_why() -> None:
    several = [guard for guard in GUARDS if len({c.file + c.as_built for c in guard.changes}) > 1]

    assert [guard.promise for guard in several if not guard.why and not _is_constraint(guard)] == []


def _is_constraint(guard: Guard) -> bool:
    return any(change.as_built == change.taken_out for change in guard.changes)


def _name(node: str) -> str:
    return node.partition("::")[2].partition("[")[0]


_KNOWN: dict[str, set[str]] = {}


def _tests_in(node: str) -> set[str]:
    """`test_name` and `TestClass::test_name` of every test in the file of a node id."""
    file = node.partition("::")[0]
    if file not in _KNOWN:
        path = ROOT / file
        body = ast.parse(path.read_text()).body if path.is_file() else []
        _KNOWN[file] = {one.name for one in body if isinstance(one, ast.FunctionDef)} | {
            f"{group.name}::{one.name}"
            for group in body
            if isinstance(group, ast.ClassDef)
            for one in group.body
            if isinstance(one, ast.FunctionDef)
        }
    return _KNOWN[file]

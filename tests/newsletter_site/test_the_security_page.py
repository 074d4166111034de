"""docs/security.md names a test for every threat, and each of them is there."""

from __future__ import annotations

import re

from tests.newsletter_site.reading_settings import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
THERE = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"def (test_\w+)\(", path.read_text())
}


def test_every_test_that_is_named_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))

    assert len(named) > 30
    assert named - THERE == set()


def test_every_threat_has_a_test_and_says_what_is_left_over() -> None:
    threats = PAGE.split("## Threats")[1].split("## ")[0].splitlines()
    rows = [row.strip("| ").split(" | ") for row in threats if row.startswith("| ")][1:]

    assert len(rows) > 10
    for row in rows:
        assert len(row) == 4, row[0]
        assert "`test_" in row[2], row[0]
        assert row[3], row[0]


def test_every_command_that_is_named_is_there() -> None:
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py")}
    of_django = {"check", "changepassword"}

    assert set(re.findall(r"\./homing (\w+)", PAGE)) <= commands | of_django

"""Imports run one way; the rules are in pyproject.toml."""

from __future__ import annotations

import importlinter.api  # noqa: F401 -- it sets the linter up
import pytest
from importlinter.application.use_cases import lint_imports

from tests.newsletter_site.read_settings import ROOT


def test_every_import_rule_holds(capsys: pytest.CaptureFixture[str]) -> None:
    kept = lint_imports(str(ROOT / "pyproject.toml"), cache_dir=None, no_logo=True)

    report = capsys.readouterr().out
    assert kept, report
    assert "7 kept, 0 broken" in report  # the number: a rule that is deleted is noticed

"""Imports run one way; the rules stand in pyproject.toml and are held here."""

from __future__ import annotations

import tomllib

import pytest
from importlinter.cli import lint_imports

from tests.newsletter_site.reading_settings import ROOT

PYPROJECT = ROOT / "pyproject.toml"
RULES = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]


def test_every_rule_holds(capsys: pytest.CaptureFixture[str]) -> None:
    result = lint_imports(config_filename=str(PYPROJECT), no_cache=True)
    assert result == 0, capsys.readouterr().out


def test_the_rules_are_those_of_the_contract() -> None:
    assert set(RULES["root_packages"]) == {
        "api",
        "delivery",
        "idempotency",
        "newsletter_site",
        "postmark_sandbox",
        "publishing",
        "subscribers",
    }
    layers = [rule["layers"] for rule in RULES["contracts"] if rule["type"] == "layers"]
    assert layers == [["newsletter_site", "publishing", "subscribers", "delivery"]]
    forbidden = {
        source: set(rule["forbidden_modules"])
        for rule in RULES["contracts"]
        if rule["type"] == "forbidden"
        for source in rule["source_modules"]
    }
    everything = set(RULES["root_packages"])
    for alone in ("delivery", "idempotency", "postmark_sandbox"):
        assert forbidden[alone] == everything - {alone}
    assert forbidden["api"] == everything - {"api", "delivery", "idempotency"}

"""Imports run one way; the rules stand in pyproject.toml and are held here."""

from __future__ import annotations

import subprocess
import sys
import tomllib

from tests.newsletter_site.reading_settings import ROOT

PYPROJECT = ROOT / "pyproject.toml"
RULES = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]


# In a process of its own: it sets up a log of its own, and silences all that was there before.
LINT = "from importlinter.cli import lint_imports_command as lint; lint(['--no-cache'])"


def test_every_rule_holds() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


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

"""The drill covers every alert, and what it shortens is time and nothing else."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
import yaml
from django.conf import settings

from tests.drill.faults import DRILLS
from tests.drill.report import Outcome, page_of
from tests.drill.runbook import ROOT, typed_in
from tests.drill.stage import FACTOR, SETTINGS, shortened

RULES = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())
ALERTS = [rule["alert"] for rule in RULES["groups"][0]["rules"]]


def test_every_alert_has_its_drill() -> None:
    assert set(DRILLS) == set(ALERTS)


@pytest.mark.parametrize("alert", ALERTS)
def test_every_section_of_the_runbook_has_a_line_that_the_drill_can_type(alert: str) -> None:
    assert typed_in(alert)


def test_the_pauses_of_workers_are_divided_by_the_same() -> None:
    """Else an alert that ends between two tries would not be seen to end in a drill."""
    assert float(SETTINGS["DELIVERY_RETRY_CAP_S"]) * FACTOR == settings.DELIVERY_RETRY_CAP_S
    assert [float(pause) * FACTOR for pause in SETTINGS["DELIVERY_LOOKUP_AFTER_S"].split(",")] == [
        60,
        300,
        900,
    ]


def test_a_drill_that_there_is_not_is_refused_with_the_names_that_there_are() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.drill", "HomingUp"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout.startswith("There is no drill of HomingUp; there are HomingNoWorker, ")


def test_the_page_says_with_which_settings_it_was_made_and_what_fell_short() -> None:
    outcomes = [Outcome(alert, "A fault.", 1.0, 2.0) for alert in ALERTS[1:]]
    outcomes.append(Outcome(ALERTS[0], "Another.", trouble="it did not fire"))
    page = page_of(outcomes, datetime(2026, 1, 2, tzinfo=UTC), 600)
    for name, value in SETTINGS.items():
        assert f"`{name}={value}`" in page
    assert f"{len(ALERTS) - 1} of {len(ALERTS)} were good. Not shown: {ALERTS[0]}." in page
    assert re.findall(r"^\| (Homing\w+) \|", page, re.MULTILINE) == ALERTS
    assert "2026-01-02, 10 minutes" in page


def test_times_are_divided_and_nothing_else_of_a_rule_is_changed() -> None:
    short = {rule["alert"]: rule for rule in shortened(copy.deepcopy(RULES))["groups"][0]["rules"]}
    assert FACTOR == 60
    assert short["HomingNothingGoesOut"]["for"] == "1000ms"
    assert short["HomingNothingGoesOut"]["expr"] == (
        "max(homing_oldest_due_batch_age_seconds) > 10 and "
        'sum(increase(homing_copies_total{outcome="sent"}[10000ms])) == 0'
    )
    assert "> 10" in short["HomingPagesFail"]["expr"]  # requests, not seconds
    for rule in RULES["groups"][0]["rules"]:
        without_times = [
            re.sub(r"\[\w+\]|_seconds\) > [\d.]+", "", each)
            for each in (rule["expr"], short[rule["alert"]]["expr"])
        ]
        assert without_times[0] == without_times[1]

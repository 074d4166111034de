"""The drill covers every alert, and what it shortens is time and nothing else."""

from __future__ import annotations

import copy
import re

import pytest
import yaml

from tests.drill.faults import DRILLS
from tests.drill.runbook import ROOT, typed_in
from tests.drill.stage import FACTOR, shortened

RULES = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())
ALERTS = [rule["alert"] for rule in RULES["groups"][0]["rules"]]


def test_every_alert_has_its_drill() -> None:
    assert set(DRILLS) == set(ALERTS)


@pytest.mark.parametrize("alert", ALERTS)
def test_every_section_of_the_runbook_has_a_line_that_the_drill_can_type(alert: str) -> None:
    assert typed_in(alert)


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

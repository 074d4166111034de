"""Alerts, dashboard and runbook: read by their own tools, and true of the program."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands

from delivery.tally import BUCKET, SUM
from newsletter_site.operating.catalogue import CATALOGUE, Kind
from tests.deployment.programs import program

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
RULES: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"][0][
    "rules"
]
TESTED = (PROMETHEUS / "alerts_test.yml").read_text()
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "homing.json").read_text())


def promtool(*arguments: str) -> str:
    done = subprocess.run(
        [program("promtool", package="prometheus"), *arguments],
        cwd=PROMETHEUS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def names() -> set[str]:
    """Every name that a real answer has."""
    found = set()
    for metric in CATALOGUE:
        found.add(metric.name)
        if metric.kind is Kind.HISTOGRAM:
            found |= {metric.name + BUCKET, metric.name + SUM, metric.name + "_count"}
    return found


def asked_for(expression: str) -> set[str]:
    return set(re.findall(r"\bhoming_\w+", expression))


# --- Alerts ---------------------------------------------------------------------------------------


def test_prometheus_reads_its_files() -> None:
    assert f"{len(RULES)} rules found" in promtool("check", "rules", "alerts.yml")
    promtool("check", "config", "--syntax-only", "prometheus.yml")


def test_every_alert_fires_at_its_fault_and_not_near_it() -> None:
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml")
    for rule in RULES:
        assert f"name: {rule['alert']} fires\n" in TESTED
        assert f"name: {rule['alert']} does not fire\n" in TESTED


def test_where_an_alert_says_a_number_a_test_reads_its_whole_sentence() -> None:
    """An expression may be right and its value another side's than the words are about."""
    read = {
        tested["alertname"]
        for test in yaml.safe_load(TESTED)["tests"]
        for tested in test.get("alert_rule_test", ())
        if any(fires.get("exp_annotations") for fires in tested["exp_alerts"])
    }
    with_a_number = {
        rule["alert"] for rule in RULES if "$value" in rule["annotations"]["description"]
    }
    assert len(with_a_number) > 15
    assert with_a_number <= read


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_what_it_is_and_where_to_read_on(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert rule["for"]
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"].endswith(".")
    assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_what_an_alert_asks_for_is_told(rule: dict[str, Any]) -> None:
    assert asked_for(rule["expr"]) <= names()


def test_labels_that_alerts_name_are_those_that_are_told() -> None:
    by_name = {metric.name: metric for metric in CATALOGUE}
    for rule in RULES:
        for name, matchers in re.findall(r"\b(homing_\w+)\{([^}]*)\}", rule["expr"]):
            for label, values in re.findall(r'(\w+)(?:=~|!=|=)"([^"]*)"', matchers):
                known = by_name[name].labels[label]
                assert not known or set(values.split("|")) <= set(known), (rule["alert"], label)


def test_the_alert_for_short_lists_looks_back_over_two_tries_of_a_batch() -> None:
    """Else it would end between them, in the middle of an outage."""
    expression = next(rule["expr"] for rule in RULES if rule["alert"] == "HomingNoCallIsAnswered")
    minutes = {int(found) for found in re.findall(r"\[(\d+)m\]", expression)}
    assert min(minutes) * 60 >= 2 * settings.DELIVERY_RETRY_CAP_S


# --- The dashboard --------------------------------------------------------------------------------


def test_what_the_dashboard_asks_for_is_told() -> None:
    expressions = [
        target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])
    ]
    assert len(expressions) > 15
    for expression in expressions:
        assert asked_for(expression) <= names(), expression


def test_every_panel_has_a_title_and_a_place_of_its_own() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        assert panel["title"]
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


# --- The runbook ----------------------------------------------------------------------------------


def sections() -> dict[str, str]:
    parts = re.split(r"^## (\w+)$", RUNBOOK, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_runbook_has_a_section_for_each_alert_in_their_order_and_no_other() -> None:
    assert list(sections()) == [rule["alert"] for rule in RULES]


@pytest.mark.parametrize("name", list(sections()))
def test_a_section_says_what_it_means_what_happens_what_to_type_and_how_to_see(name: str) -> None:
    section = sections()[name]
    for beginning in ("**It means**", "**By itself:**", "**Type**", "**It worked**"):
        assert section.count(beginning) == 1, beginning
    assert "```" in section


def test_every_command_in_the_runbook_exists_and_takes_what_it_is_given() -> None:
    from django.core.management import load_command_class

    typed = re.findall(r"(?:\./homing|python manage\.py) ([a-z_]+)((?: [^\s`;,.]+)*)", RUNBOOK)
    assert len(typed) > 30
    commands = get_commands()
    for name, arguments in typed:
        assert name in commands, name
        command = load_command_class(commands[name], name)
        parser = command.create_parser("manage.py", name)
        words = arguments.replace("ISSUE", "00000000-0000-4000-8000-000000000000").split()
        try:
            parser.parse_args([word for word in words if not word.startswith("#")])
        except Exception as refused:  # noqa: BLE001 -- the line is what is wrong
            pytest.fail(f"./homing {name}{arguments}: {refused}")


def test_every_link_of_the_runbook_leads_somewhere() -> None:
    for target in re.findall(r"\]\(#(\w+)\)", RUNBOOK):
        assert target in {name.lower() for name in sections()}

"""Alerts, dashboard and runbook are valid for their tools and match the program."""

import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from delivery.monitoring.metrics_storage import BUCKET, SUM
from newsletter_site.operations.metrics.metrics_catalogue import CATALOGUE
from tests.installed_programs import program

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
GROUPS = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
RULES: dict[str, dict[str, Any]] = {rule["alert"]: rule for rule in GROUPS[0]["rules"]}
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


def unknown(expressions: Iterable[str]) -> set[str]:
    """Return the metric names in these expressions that the program does not have."""
    known = {metric.name for metric in CATALOGUE}
    for metric in CATALOGUE:
        if metric.kind == "histogram":
            known |= {metric.name + BUCKET, metric.name + SUM, metric.name + "_count"}
    return set(re.findall(r"\bhoming_\w+", " ".join(expressions))) - known


def test_every_alert_fires_at_its_fault_and_not_near_it() -> None:
    assert f"{len(RULES)} rules found" in promtool("check", "rules", "alerts.yml")
    promtool("check", "config", "--syntax-only", "prometheus.yml")
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml")
    for alert in RULES:
        assert f"name: {alert} fires\n" in TESTED
        assert f"name: {alert} does not fire\n" in TESTED


def test_numbers_in_alert_texts_are_tested_with_their_sentence() -> None:
    """Even a valid expression may have a value that does not fit the alert's sentence."""
    read = {
        tested["alertname"]
        for test in yaml.safe_load(TESTED)["tests"]
        for tested in test.get("alert_rule_test", ())
        if any(fires.get("exp_annotations") for fires in tested["exp_alerts"])
    }
    with_a_number = {
        alert for alert, rule in RULES.items() if "$value" in rule["annotations"]["description"]
    }
    assert len(with_a_number) > 15
    assert with_a_number <= read


def test_alerts_have_a_severity_and_a_runbook_link() -> None:
    for alert, rule in RULES.items():
        assert rule["labels"]["severity"] in {"critical", "warning"}, alert
        assert rule["for"], alert
        assert rule["annotations"]["summary"], alert
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{alert.lower()}"


def test_alerts_and_dashboard_use_existing_metrics_and_labels() -> None:
    panels = [target["expr"] for one in DASHBOARD["panels"] for target in one.get("targets", [])]
    assert len(panels) > 15
    assert unknown(panels) == set()
    assert unknown(rule["expr"] for rule in RULES.values()) == set()
    by_name = {metric.name: metric for metric in CATALOGUE}
    for alert, rule in RULES.items():
        for name, matchers in re.findall(r"\b(homing_\w+)\{([^}]*)\}", rule["expr"]):
            for label, values in re.findall(r'(\w+)(?:=~|!=|=)"([^"]*)"', matchers):
                known = by_name[name].labels[label]
                assert not known or set(values.split("|")) <= set(known), (alert, label)


def test_alert_for_short_lists_covers_two_tries_of_a_batch() -> None:
    """With a shorter time, the alert would end between two tries during an outage."""
    minutes = re.findall(r"\[(\d+)m\]", RULES["HomingNoCallAnswered"]["expr"])
    assert min(map(int, minutes)) * 60 >= 2 * settings.DELIVERY_RETRY_CAP_S


def test_runbook_has_a_section_with_commands_for_each_alert() -> None:
    parts = re.split(r"^## (\w+)$", RUNBOOK, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert list(sections) == list(RULES)
    for name, section in sections.items():
        assert "```" in section, name
    links = re.findall(r"\]\(#(\w+)\)", RUNBOOK)
    assert set(links) <= {name.lower() for name in sections}

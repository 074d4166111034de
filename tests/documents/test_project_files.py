"""The files for contributors, tools and GitHub are valid and match the code."""

import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.postgres_cluster import ROOT

pytestmark = pytest.mark.process
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflow(path: Path) -> dict[Any, Any]:
    parsed: dict[Any, Any] = yaml.safe_load(path.read_text())
    return parsed


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job.get("steps", ())]


def test_workflows_follow_the_schema_of_github() -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    subprocess.run([checker, "--builtin-schema", "vendor.github-workflows", *WORKFLOWS], check=True)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_its_commit(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    for action in used:
        pinned = re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
        assert pinned or (ROOT / action).is_file(), action


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_only_jobs_may_write(path: Path) -> None:
    assert set(workflow(path)["permissions"].values()) <= {"read"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_contain_no_text_from_outside(path: Path) -> None:
    """GitHub replaces `${{ … }}` first, so the shell would run the inserted text."""
    assert [step for step in steps(path) if "${{" in step.get("run", "")] == []


def test_pushes_and_releases_are_checked_by_the_same_script() -> None:
    check, release = WORKFLOWS
    assert {"run": ".ci/run"} in steps(check)
    assert workflow(release)["jobs"]["image"]["needs"] == "check"


def test_checks_run_on_the_images_base() -> None:
    base = re.search(r"^FROM (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert base is not None
    assert workflow(WORKFLOWS[0])["jobs"]["run"]["container"]["image"] == base[1]


def test_hooks_use_only_the_locked_tools() -> None:
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        module = re.search(r"\.venv/bin/python -m (\w+)", hook["entry"])
        assert module is not None
        subprocess.run([sys.executable, "-m", module[1], "--version"], check=True)


def test_editors_and_ruff_use_the_same_line_length() -> None:
    editors = ConfigParser()
    editors.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    ruff = re.search(r"^line-length = (\d+)$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert ruff is not None
    assert editors["*"]["max_line_length"] == ruff[1]

"""Decisions of the entry script: which database, packages and tests it uses."""

import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from tests.small_checkout import SCRIPT

A_DATABASE = {"DATABASE_URL": "postgres://homing@127.0.0.1/homing"}


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Load the script as a module, on a machine without a server's settings."""
    loader = SourceFileLoader("homing_entry", str(SCRIPT))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    module.SERVER_SETTINGS = tmp_path / "homing.env"  # type: ignore[attr-defined]
    for name in ("DATABASE_URL", "DEBUG", "SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    return module


@pytest.fixture
def on_a_server(entry: Any) -> Any:
    """Load the script on a machine with a server's settings."""
    entry.SERVER_SETTINGS.touch()
    return entry


def given(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def test_the_settings_of_a_server_are_where_the_docs_say() -> None:
    assert SCRIPT.read_text().count('Path("/etc/homing/homing.env")') == 1


@pytest.mark.parametrize("environment", [{}, {"DEBUG": "off"}, {"DEBUG": " "}], ids=str)
def test_on_a_server_no_command_uses_another_database(
    on_a_server: Any, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, environment)
    with pytest.raises(SystemExit, match=f"set -a; . {on_a_server.SERVER_SETTINGS}; set .a"):
        on_a_server.refuse_without_settings("audit")


def test_a_python_that_services_cannot_see_is_refused(
    on_a_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, {})
    on_a_server.refuse_hidden_python(Path("/usr"))
    hidden = Path("/root/.pyenv/versions/3.13.1")
    with pytest.raises(SystemExit, match="the Python at /root/"):
        on_a_server.refuse_hidden_python(hidden)
    given(monkeypatch, {"DEBUG": "on"})
    on_a_server.refuse_hidden_python(hidden)


def test_the_version_needs_no_settings_and_few_packages(
    on_a_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, {})
    on_a_server.refuse_without_settings("--version")
    assert on_a_server.lock_for("--version") == "production"


@pytest.mark.parametrize("command", ["demo", "test"])
@pytest.mark.parametrize("environment", [{}, A_DATABASE], ids=str)
def test_demo_and_test_are_refused_on_a_server(
    on_a_server: Any, command: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, environment)
    with pytest.raises(SystemExit, match=f"`./homing {command}` does not run here"):
        on_a_server.refuse_without_settings(command)


@pytest.mark.parametrize(
    ("command", "environment"),
    [("audit", A_DATABASE), ("audit", {"DEBUG": "on"}), ("demo", {"DEBUG": "Yes"})],
)
def test_on_a_server_a_command_with_a_database_runs(
    on_a_server: Any, command: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, environment)
    on_a_server.refuse_without_settings(command)


def test_a_command_gets_the_smallest_sufficient_lock(
    entry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, {"DEBUG": "off", "SECRET_KEY": "a key"})
    for command, lock in (("audit", "demo"), ("demo", "demo"), ("test", "test")):
        entry.refuse_without_settings(command)
        assert entry.lock_for(command) == lock
    given(monkeypatch, A_DATABASE)
    for command, lock in (("audit", "production"), ("demo", "demo"), ("test", "test")):
        assert entry.lock_for(command) == lock


def test_tiers_use_every_core_and_named_files_one_process(entry: Any) -> None:
    tiers = (([], ["--quick"]), (["--all"], []), (["--changed"], ["--changed"]))
    for typed, tier in tiers:
        options = entry.test_options([*typed, "-k", "delivery"])
        assert options[:2] == ["-n", str((os.cpu_count() or 1) + 1)]
        assert options[options.index("--no-loadscope-reorder") + 1 :] == [*tier, "-k", "delivery"]
    named = ["tests/delivery/queue/test_pause_and_resume.py", "-x"]
    assert entry.test_options(named) == named
    for tier in ("--all", "--changed", "--quick"):
        with pytest.raises(SystemExit, match=f"Give files or {tier}, not both."):
            entry.test_options([tier, *named])


@pytest.mark.parametrize("typed", [["nonsense"], ["--all", "nonsense", "-x"]], ids=str)
def test_a_word_that_is_no_test_file_is_refused(
    entry: Any, typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        entry.test_options(typed)
    assert refused.value.code == 2
    assert "There is no test file nonsense. Give a path below tests/" in capsys.readouterr().err
    assert entry.test_options(["tests"])[-1] == "tests"


def test_an_environment_is_ready_only_for_its_packages(entry: Any, tmp_path: Path) -> None:
    entry.ROOT = tmp_path
    (tmp_path / "requirements").mkdir()
    for lock in entry.LOCKS:
        (tmp_path / "requirements" / f"{lock}.txt").write_text(f"# {lock}\n")
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").touch(mode=0o755)
    (venv / "homing.json").write_text(entry.json.dumps(entry.stamp_of(venv, "demo")))
    assert [entry.is_ready(venv, lock) for lock in entry.LOCKS] == [True, True, False]
    # A link to an environment works, but a moved one does not: its scripts have the old path.
    (tmp_path / "link").symlink_to(venv)
    assert entry.is_ready(tmp_path / "link", "demo")
    moved = venv.rename(tmp_path / "moved")
    assert not entry.is_ready(moved, "demo")
    moved.rename(venv)
    (tmp_path / "requirements" / "demo.txt").write_text("# demo, changed\n")
    assert not entry.is_ready(venv, "demo")

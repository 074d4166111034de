"""The entry script where a site is running: nothing that is typed takes anything from under it."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.small_checkout import lay_out, run, stamp, start

A_DATABASE = {"DATABASE_URL": "postgres://homing@127.0.0.1/homing"}
# What runs, and looks for a package only when it first needs it.
RUNNING = """
import sys
print(flush=True)
sys.stdin.read()
import needed_late
print(needed_late.__file__)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose environment of a server is made, with a package more in it."""
    checkout = lay_out(tmp_path_factory.mktemp("made") / "homing")
    run(checkout, "deliver", environment=A_DATABASE)
    assert stamp(checkout)["lock"] == "production"
    [packages] = checkout.glob(".venv/lib/python*/site-packages")
    (packages / "needed_late.py").touch()
    return checkout


@pytest.fixture
def checkout(made: Path, tmp_path: Path) -> Iterator[Path]:
    """The same to spoil: it stands where it was made, because its stamp says where."""
    kept = tmp_path / "kept"
    shutil.copytree(made, kept, symlinks=True)
    yield made
    shutil.rmtree(made)
    shutil.copytree(kept, made, symlinks=True)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but what Python compiles when it likes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def lock_what_cannot_be_had(checkout: Path, lock: str) -> None:
    """Have a lock name a package that is not what was locked, so that pip refuses it."""
    wheel = checkout / "altered-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not what was locked")
    (checkout / "requirements" / f"{lock}.txt").write_text(
        f"altered @ {wheel.as_uri()} --hash=sha256:{'0' * 64}\n"
    )


def refusal(checkout: Path, *arguments: str, **environment: str) -> str:
    """What the script says when it does not run the command."""
    process = start(checkout, *arguments, environment=environment)
    out, errors = process.communicate()
    assert (process.returncode, out) == (1, "")
    return errors


# --- The environment ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lock", "command", "environment"),
    [("demo", "demo", {}), ("production", "deliver", A_DATABASE)],
    ids=["a richer one", "another"],
)
def test_an_installation_that_fails_changes_nothing_of_what_was_there(
    checkout: Path, lock: str, command: str, environment: dict[str, str]
) -> None:
    before = contents(checkout / ".venv")
    lock_what_cannot_be_had(checkout, lock)

    assert "could not be installed" in refusal(checkout, command, **environment)

    assert contents(checkout / ".venv") == before


def test_after_an_installation_that_failed_the_server_goes_on_as_before(checkout: Path) -> None:
    lock_what_cannot_be_had(checkout, "demo")
    refusal(checkout, "demo")

    assert run(checkout, "audit", environment=A_DATABASE)[1] == ""


@pytest.mark.parametrize("succeeds", [True, False], ids=["is finished", "fails"])
def test_what_runs_finds_its_packages_when_the_environment_is_enriched_or_that_fails(
    checkout: Path, succeeds: bool
) -> None:
    running = subprocess.Popen(
        [checkout / ".venv" / "bin" / "python", "-c", RUNNING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    running.stdout.readline()
    if succeeds:
        run(checkout, "demo")
    else:
        lock_what_cannot_be_had(checkout, "production")
        refusal(checkout, "deliver", **A_DATABASE)

    found, _ = running.communicate()

    assert running.returncode == 0
    assert found.startswith(str(checkout / ".venv"))


def test_programs_of_the_environment_say_where_they_are_and_not_where_they_were_made(
    checkout: Path,
) -> None:
    run(checkout, "demo")
    for path in ((checkout / ".venv" / "pyvenv.cfg"), *(checkout / ".venv" / "bin").iterdir()):
        if not path.is_symlink():
            assert b".venv.new" not in path.read_bytes(), path
    said = subprocess.run(
        [checkout / ".venv" / "bin" / "pip", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(checkout / ".venv" / "lib") in said.stdout
    assert sorted(path.name for path in checkout.glob(".venv*")) == [".venv", ".venv.lock"]


def test_what_a_dead_run_left_is_thrown_away(checkout: Path) -> None:
    (checkout / ".venv.new").mkdir()
    (checkout / ".venv.new" / "half").touch()
    run(checkout, "demo")
    assert not (checkout / ".venv" / "half").exists()


# --- Which database is meant ----------------------------------------------------------------------


@pytest.fixture
def on_a_server(checkout: Path) -> Path:
    """A finished checkout on a machine where settings of a server are kept."""
    settings = checkout / "homing.env"
    settings.write_text("")
    script = (checkout / "homing").read_text()
    assert script.count('"/etc/homing/homing.env"') == 1
    (checkout / "homing").write_text(script.replace("/etc/homing/homing.env", str(settings)))
    return checkout


@pytest.mark.parametrize("environment", [{}, {"DEBUG": "off"}, {"DEBUG": " "}], ids=str)
def test_on_a_server_no_command_speaks_of_another_database(
    on_a_server: Path, environment: dict[str, str]
) -> None:
    said = refusal(on_a_server, "audit", **environment)
    assert f"set -a; . {on_a_server}/homing.env; set +a" in said


@pytest.mark.parametrize("command", ["demo", "test"])
@pytest.mark.parametrize("environment", [{}, A_DATABASE], ids=str)
def test_on_a_server_there_is_no_demo_and_no_test(
    on_a_server: Path, command: str, environment: dict[str, str]
) -> None:
    said = refusal(on_a_server, command, **environment)
    assert f"`./homing {command}` is not for it" in said
    assert stamp(on_a_server)["lock"] == "production"


@pytest.mark.parametrize(
    ("command", "environment"),
    [("audit", A_DATABASE), ("audit", {"DEBUG": "on"}), ("demo", {"DEBUG": "Yes"})],
)
def test_on_a_server_what_says_which_database_it_means_runs(
    on_a_server: Path, command: str, environment: dict[str, str]
) -> None:
    said, _ = run(on_a_server, command, environment=environment)
    assert said["arguments"] == [command]


@pytest.mark.parametrize("environment", [{}, {"DEBUG": "off"}, {"SECRET_KEY": "a key"}], ids=str)
def test_elsewhere_a_database_of_its_own_stands_in_where_none_is_named(
    checkout: Path, environment: dict[str, str]
) -> None:
    said, _ = run(checkout, "audit", environment=environment)
    assert said["arguments"] == ["audit"]
    assert stamp(checkout)["lock"] == "demo"


def test_the_tests_run_whatever_is_set(checkout: Path) -> None:
    said, _ = run(checkout, "test", "-k", "word", environment={"DEBUG": "off"})
    assert said["arguments"] == ["-k", "word"]

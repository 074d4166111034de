"""The entry script `homing`, on small checkouts with empty locks."""

import fcntl
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.small_checkout import PYTHON, lay_out, run, stamp, start

pytestmark = pytest.mark.process

A_DATABASE = {"DATABASE_URL": "postgres://homing@127.0.0.1/homing"}
# A program that imports a package only when a test closes its input.
RUNNING = """
import sys
print(flush=True)
sys.stdin.read()
import needed_late
print(needed_late.__file__)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a checkout whose environment has a server's packages and one more."""
    checkout = lay_out(tmp_path_factory.mktemp("made") / "homing")
    _, lines = run(checkout, "deliver", environment=A_DATABASE)
    assert "Creating" in lines
    assert stamp(checkout)["lock"] == "production"
    [packages] = checkout.glob(".venv/lib/python*/site-packages")
    (packages / "needed_late.py").touch()
    return checkout


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Iterator[Path]:
    """Yield the same checkout, and restore it afterwards.

    The checkout is not copied elsewhere, because its stamp contains its path.
    """
    kept = tmp_path / "kept"
    shutil.copytree(made, kept, symlinks=True)
    yield made
    shutil.rmtree(made)
    shutil.copytree(kept, made, symlinks=True)


@pytest.fixture
def running(copy: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a program that runs in the environment."""
    command = [copy / ".venv" / "bin" / "python", "-c", RUNNING]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process


def contents(folder: Path) -> dict[str, bytes]:
    """Read every file below a folder, except compiled files."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def lock_what_cannot_be_had(checkout: Path, lock: str) -> None:
    """Write a lock with a wrong hash, so that pip refuses the package."""
    wheel = checkout / "altered-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not what was locked")
    (checkout / "requirements" / f"{lock}.txt").write_text(
        f"altered @ {wheel.as_uri()} --hash=sha256:{'0' * 64}\n"
    )


def refusal(checkout: Path, *arguments: str, **options: Any) -> str:
    """Return the error of a refused command."""
    process = start(checkout, *arguments, **options)
    out, errors = process.communicate()
    assert (process.returncode, out) == (1, "")
    return errors


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((), ("./homing demo", "./homing test")), (("test", "--help"), ("--all", "--changed"))],
    ids=["the script", "the tests"],
)
def test_help_installs_nothing(
    tmp_path: Path, arguments: tuple[str, ...], named: tuple[str, ...]
) -> None:
    checkout = lay_out(tmp_path / "fresh")
    process = start(checkout, *arguments)
    out, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert all(word in out for word in named)
    assert not (checkout / ".venv").exists()


def test_the_command_runs_in_the_callers_folder(made: Path, tmp_path: Path) -> None:
    before = (made / ".venv" / "homing.json").stat().st_mtime_ns
    result, lines = run(made, "deliver", "--processes", "2", environment=A_DATABASE, cwd=tmp_path)
    assert result["arguments"] == ["deliver", "--processes", "2"]
    assert (result["prefix"], result["folder"]) == (str(made / ".venv"), str(tmp_path))
    assert lines == ""
    assert (made / ".venv" / "homing.json").stat().st_mtime_ns == before


def test_a_larger_environment_replaces_one_in_use(
    copy: Path, running: subprocess.Popen[str], tmp_path: Path
) -> None:
    (copy / ".venv.new").mkdir()
    # A killed run left this file. The next run removes what a killed run left.
    (copy / ".venv.new" / "half").touch()
    result, lines = run(copy, "test", "tests/test_x.py", cwd=tmp_path, environment={"DEBUG": "off"})
    assert (result["arguments"], result["folder"]) == (["tests/test_x.py"], str(copy))
    assert stamp(copy)["lock"] == "test"
    assert "requirements/test.txt" in lines
    assert run(copy, "demo")[1] == ""
    found, _ = running.communicate()
    assert (running.returncode, found.startswith(str(copy / ".venv"))) == (0, True)
    # The programs of the environment contain its final path.
    for path in ((copy / ".venv" / "pyvenv.cfg"), *(copy / ".venv" / "bin").iterdir()):
        if not path.is_symlink():
            assert b".venv.new" not in path.read_bytes(), path
    assert not (copy / ".venv" / "half").exists()
    assert sorted(path.name for path in copy.glob(".venv*")) == [".venv", ".venv.lock"]


@pytest.mark.parametrize(
    ("lock", "command", "environment"),
    [("demo", "demo", {}), ("production", "deliver", A_DATABASE)],
    ids=["a richer one", "another"],
)
def test_a_failed_installation_leaves_the_environment(
    copy: Path, running: subprocess.Popen[str], lock: str, command: str, environment: dict[str, str]
) -> None:
    before = contents(copy / ".venv")
    lock_what_cannot_be_had(copy, lock)
    errors = refusal(copy, command, environment=environment)
    assert "DO NOT MATCH THE HASHES" in errors
    assert f"requirements/{lock}.txt could not be installed" in errors
    assert contents(copy / ".venv") == before
    assert running.communicate()[0].startswith(str(copy / ".venv"))
    if lock == "demo":
        assert run(copy, "audit", environment=A_DATABASE)[1] == ""


def test_a_linked_environment_is_never_changed(made: Path, tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "linked")
    (checkout / ".venv").symlink_to(made / ".venv")
    assert run(checkout, "deliver", environment=A_DATABASE)[1] == ""
    before = contents(made / ".venv")
    assert "remove the link" in refusal(checkout, "demo")
    assert contents(made / ".venv") == before


def test_on_a_server_a_command_without_its_settings_is_refused(copy: Path) -> None:
    (copy / "homing.env").touch()
    script = (copy / "homing").read_text()
    (copy / "homing").write_text(script.replace("/etc/homing/homing.env", f"{copy}/homing.env"))
    assert f"set -a; . {copy}/homing.env; set +a" in refusal(copy, "audit")
    assert stamp(copy)["lock"] == "production"  # Nothing was installed for the refused command.


def test_changed_lock_recreates_the_environment(copy: Path) -> None:
    (copy / "requirements" / "production.txt").write_text("# production, changed\n")
    _, lines = run(copy, "deliver", environment=A_DATABASE)
    assert "Creating" in lines
    assert not any((copy / ".venv").rglob("needed_late.py"))


def test_concurrent_first_runs_make_one_environment(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    both = [start(checkout, "demo") for _ in range(2)]
    lines = ""
    for process in both:
        out, errors = process.communicate()
        assert json.loads(out)["arguments"] == ["demo"]
        lines += errors
    assert lines.count("Installing") == 1


def test_a_killed_installation_starts_again(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    process = start(checkout, "demo", start_new_session=True)
    assert process.stderr is not None
    while "Installing" not in process.stderr.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (checkout / ".venv" / "homing.json").exists()
    result, lines = run(checkout, "demo")
    assert "Creating" in lines
    assert result["arguments"] == ["demo"]


def test_signals_reach_the_command_and_its_exit_code_is_returned(made: Path) -> None:
    failing = start(made, "fail", environment=A_DATABASE)
    failing.communicate()
    assert failing.returncode == 3
    waiting = start(made, "wait", environment=A_DATABASE)
    assert waiting.stdout is not None
    waiting.stdout.readline()
    waiting.terminate()
    waiting.communicate()
    assert waiting.returncode == -signal.SIGTERM


def spoiled_python(folder: Path, spoil: str) -> dict[str, str]:
    """Return an environment in which Python runs a statement at its start."""
    (folder / "sitecustomize.py").write_text(f"import sys\n{spoil}\n")
    return {"PYTHONPATH": str(folder)}


def test_a_python_without_venv_gets_the_command_to_install_it(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    environment = spoiled_python(tmp_path, "sys.modules['ensurepip'] = None")
    errors = refusal(checkout, "demo", environment=environment)
    assert errors.splitlines()[-1].startswith("This Python cannot create environments")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if shutil.which("apt-get", path="/usr/bin:/bin"):
        assert f"apt-get install -y python{version}-venv" in errors
    else:
        assert "venv and ensurepip" in errors


def test_an_old_python_is_refused_in_one_sentence(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    spoil = "sys.version_info = (3, 10, 4, 'final', 0); sys.version = '3.10.4 (main)'"
    errors = refusal(checkout, "demo", environment=spoiled_python(tmp_path, spoil))
    assert errors.count("\n") == 1
    assert "needs Python 3.11 or newer. This is Python 3.10.4." in errors


def python_for(uid: int) -> Path | None:
    """Find a Python that another user may run.

    The Python that runs the tests may be in root's home.
    """
    trial = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"
    for python in (PYTHON, Path("/usr/bin/python3"), Path("/usr/local/bin/python3")):
        try:
            tried = subprocess.run([python, "-c", trial], user=uid, cwd="/", check=False)
        except OSError:
            continue
        if tried.returncode == 0:
            return python
    return None


@pytest.fixture
def sealed_checkout() -> Iterator[Path]:
    """Create a checkout that everyone may read and only root may write to."""
    with tempfile.TemporaryDirectory(prefix="homing-test-", dir="/var/tmp") as name:
        folder = Path(name)
        checkout = lay_out(folder / "checkout")
        (folder / "home").mkdir()
        for path in (folder, checkout, *checkout.rglob("*")):
            path.chmod(0o555 if path.is_dir() or path.name == "homing" else 0o444)
        yield checkout
        for path in (folder, checkout):
            path.chmod(0o755)


def test_a_read_only_checkout_gets_an_environment_at_home(
    sealed_checkout: Path, tmp_path: Path
) -> None:
    home, options = tmp_path, {}
    if os.geteuid() == 0:  # Root may write everywhere, so another user runs the script.
        nobody, home = pwd.getpwnam("nobody"), sealed_checkout.parent / "home"
        if (python := python_for(nobody.pw_uid)) is None:
            pytest.skip("No Python on this machine may be run by other users than root.")
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        ids: dict[str, Any] = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        options = {"python": python, "cwd": "/", **ids}
    environment = {"HOME": str(home)}
    result, lines = run(sealed_checkout, "demo", environment=environment, **options)
    assert f"{sealed_checkout} is not writable" in lines
    assert Path(result["prefix"]).is_relative_to(home)
    assert Path(result["data"]).is_relative_to(home)
    assert not (sealed_checkout / ".venv").exists()
    again, lines = run(sealed_checkout, "demo", environment=environment, **options)
    assert (again, lines) == (result, "")


def test_signal_while_deliver_waits_for_its_environment_gives_0(copy: Path) -> None:
    lock_what_cannot_be_had(copy, "production")  # the stamp no longer matches the lock
    with (copy / ".venv.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = start(copy, "deliver", environment=A_DATABASE)
        assert process.stderr is not None
        assert "Waiting for it" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize(("command", "held"), [("deliver", [2, 15]), ("publish", [])])
def test_signals_wait_until_manage_py_handles_them(
    copy: Path, command: str, held: list[int]
) -> None:
    (copy / "manage.py").write_text(
        "import signal\nprint(sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))\n"
    )
    found, _ = run(copy, command, environment=A_DATABASE)
    assert found == held

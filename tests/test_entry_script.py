"""The entry script `homing`, tried on small checkouts of its own whose locks hold nothing."""

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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose environment for the demo is made."""
    checkout = lay_out(tmp_path_factory.mktemp("made") / "homing")
    run(checkout, "demo")
    return checkout


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Iterator[Path]:
    """A finished checkout to spoil: it stands where it was made, because its stamp says where."""
    kept = tmp_path / "kept"
    shutil.copytree(made, kept, symlinks=True)
    yield made
    shutil.rmtree(made)
    shutil.copytree(kept, made, symlinks=True)


def test_without_arguments_it_says_what_it_can_do_and_makes_nothing(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    process = start(checkout)
    out, errors = process.communicate()
    assert process.returncode == 0
    assert "./homing demo" in out
    assert "./homing test" in out
    assert errors == ""
    assert not (checkout / ".venv").exists()


def test_the_command_runs_in_the_environment_beside_the_script(made: Path) -> None:
    said, _ = run(made, "deliver", "--until-empty", "--concurrency", "2")
    assert said["arguments"] == ["deliver", "--until-empty", "--concurrency", "2"]
    assert said["prefix"] == str(made / ".venv")


def test_a_second_run_makes_nothing_and_says_nothing(made: Path) -> None:
    before = (made / ".venv" / "homing.json").stat().st_mtime_ns
    _, lines = run(made, "demo")
    assert lines == ""
    assert (made / ".venv" / "homing.json").stat().st_mtime_ns == before


def test_a_command_keeps_the_folder_it_was_called_from(made: Path, tmp_path: Path) -> None:
    said, _ = run(made, "import_subscribers", "readers.csv", cwd=tmp_path)
    assert said["folder"] == str(tmp_path)


def test_the_tests_run_in_the_checkout_with_the_richest_lock_put_in_place(
    copy: Path, tmp_path: Path
) -> None:
    (copy / ".venv" / "mark").touch()
    said, lines = run(copy, "test", "-k", "word", cwd=tmp_path)
    assert said["arguments"] == ["-k", "word"]
    assert said["folder"] == str(copy)
    assert stamp(copy)["lock"] == "test"
    assert "requirements/test.txt" in lines
    assert (copy / ".venv" / "mark").exists()
    assert run(copy, "demo")[1] == ""


def test_a_changed_lock_makes_the_environment_anew(copy: Path) -> None:
    (copy / ".venv" / "mark").touch()
    (copy / "requirements" / "demo.txt").write_text("# demo, changed\n")
    _, lines = run(copy, "demo")
    assert "Making" in lines
    assert not (copy / ".venv" / "mark").exists()


def test_a_checkout_that_was_moved_makes_its_environment_anew(made: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(made, tmp_path / "moved", symlinks=True)
    said, lines = run(moved, "demo")
    assert "Making" in lines
    assert said["prefix"] == str(moved / ".venv")


def test_the_environment_of_another_checkout_serves_by_a_link(made: Path, tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "linked")
    (checkout / ".venv").symlink_to(made / ".venv")

    _, errors = run(checkout, "demo")

    assert errors == ""


def test_the_environment_of_another_checkout_is_never_changed_through_a_link(
    made: Path, tmp_path: Path
) -> None:
    checkout = lay_out(tmp_path / "linked")
    (checkout / ".venv").symlink_to(made / ".venv")
    (checkout / "requirements" / "demo.txt").write_text("# other packages\n")
    before = sorted(made.joinpath(".venv").rglob("*"))

    process = start(checkout, "demo")
    out, errors = process.communicate()

    assert (process.returncode, out) == (1, "")
    assert "remove the link" in errors
    assert sorted(made.joinpath(".venv").rglob("*")) == before
    assert stamp(made)["path"] == str(made / ".venv")


def test_with_a_database_url_the_production_lock_is_enough(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    run(checkout, "deliver", environment={"DATABASE_URL": "postgres://db.example.org/homing"})
    assert stamp(checkout)["lock"] == "production"


def test_two_that_start_at_once_make_it_once_and_both_run(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    both = [start(checkout, "demo") for _ in range(2)]
    lines = ""
    for process in both:
        out, errors = process.communicate()
        assert json.loads(out)["arguments"] == ["demo"]
        lines += errors
    assert lines.count("Installing") == 1


def test_one_that_was_killed_half_way_is_made_anew_by_the_next(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    process = start(checkout, "demo", start_new_session=True)
    assert process.stderr is not None
    while "Installing" not in process.stderr.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (checkout / ".venv" / "homing.json").exists()
    said, lines = run(checkout, "demo")
    assert "Making" in lines
    assert said["arguments"] == ["demo"]


def test_a_package_that_does_not_match_its_hash_is_refused(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    wheel = tmp_path / "altered-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not what was locked")
    (checkout / "requirements" / "demo.txt").write_text(
        f"altered @ {wheel.as_uri()} --hash=sha256:{'0' * 64}\n"
    )
    process = start(checkout, "demo")
    out, errors = process.communicate()
    assert process.returncode == 1
    assert out == ""
    assert "DO NOT MATCH THE HASHES" in errors
    assert "requirements/demo.txt could not be installed" in errors
    assert not (checkout / ".venv" / "homing.json").exists()


def test_the_exit_code_and_the_signals_are_the_commands_own(made: Path) -> None:
    failing = start(made, "fail")
    failing.communicate()
    assert failing.returncode == 3
    waiting = start(made, "wait")
    assert waiting.stdout is not None
    waiting.stdout.readline()
    waiting.terminate()
    waiting.communicate()
    assert waiting.returncode == -signal.SIGTERM


def spoiled_python(folder: Path, spoil: str) -> dict[str, str]:
    """The environment in which Python is spoiled at its start by the statement given."""
    (folder / "sitecustomize.py").write_text(f"import sys\n{spoil}\n")
    return {"PYTHONPATH": str(folder)}


def test_a_python_that_cannot_make_environments_is_told_the_line_that_helps(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    environment = spoiled_python(tmp_path, "sys.modules['ensurepip'] = None")
    process = start(checkout, "demo", environment=environment)
    _, errors = process.communicate()
    assert process.returncode == 1
    assert errors.splitlines()[-1].startswith("This Python cannot make environments")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if shutil.which("apt-get", path="/usr/bin:/bin"):
        assert f"apt-get install -y python{version}-venv" in errors
    else:
        assert "venv and ensurepip" in errors


def test_an_old_python_is_refused_in_one_sentence(tmp_path: Path) -> None:
    checkout = lay_out(tmp_path / "fresh")
    spoil = "sys.version_info = (3, 10, 4, 'final', 0); sys.version = '3.10.4 (main)'"
    process = start(checkout, "demo", environment=spoiled_python(tmp_path, spoil))
    _, errors = process.communicate()
    assert process.returncode == 1
    assert errors.count("\n") == 1
    assert "needs Python 3.11 or newer and this is 3.10.4" in errors


def python_for(uid: int) -> Path | None:
    """A Python that another user may run too; the one of the tests may lie in root's home."""
    trial = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"
    for python in (PYTHON, Path("/usr/bin/python3"), Path("/usr/local/bin/python3")):
        try:
            tried = subprocess.run([python, "-c", trial], user=uid, cwd="/", check=False)
        except OSError:
            continue
        if tried.returncode == 0:
            return python
    return None


NOBODY = pwd.getpwnam("nobody")
PYTHON_FOR_NOBODY = python_for(NOBODY.pw_uid) if os.geteuid() == 0 else None


@pytest.fixture
def sealed_checkout() -> Iterator[Path]:
    """A checkout that everybody may read and only root may write to, or nobody where we are not."""
    with tempfile.TemporaryDirectory(prefix="homing-test-", dir="/var/tmp") as name:
        folder = Path(name)
        checkout = lay_out(folder / "checkout")
        (folder / "home").mkdir()
        for path in (folder, checkout, *checkout.rglob("*")):
            path.chmod(0o555 if path.is_dir() or path.name == "homing" else 0o444)
        yield checkout
        for path in (folder, checkout):
            path.chmod(0o755)


def check_that_everything_goes_elsewhere(checkout: Path, home: Path, **options: Any) -> None:
    """Run the demo twice in a sealed checkout: environment and data are in the user's home."""
    environment = {"HOME": str(home)}
    said, lines = run(checkout, "demo", environment=environment, **options)
    assert f"{checkout} cannot be written to" in lines
    assert Path(said["prefix"]).is_relative_to(home)
    assert Path(said["data"]).is_relative_to(home)
    assert not (checkout / ".venv").exists()
    again, lines = run(checkout, "demo", environment=environment, **options)
    assert (again, lines) == (said, "")


if PYTHON_FOR_NOBODY is not None:

    def test_who_may_not_write_to_the_checkout_gets_an_environment_at_home(
        sealed_checkout: Path,
    ) -> None:
        home = sealed_checkout.parent / "home"
        os.chown(home, NOBODY.pw_uid, NOBODY.pw_gid)
        check_that_everything_goes_elsewhere(
            sealed_checkout,
            home,
            python=PYTHON_FOR_NOBODY,
            user=NOBODY.pw_uid,
            group=NOBODY.pw_gid,
            extra_groups=[],
            cwd="/",
        )

elif os.geteuid() != 0:

    def test_who_may_not_write_to_the_checkout_gets_an_environment_at_home(
        sealed_checkout: Path, tmp_path: Path
    ) -> None:
        check_that_everything_goes_elsewhere(sealed_checkout, tmp_path)

else:

    def test_root_may_write_to_a_sealed_checkout_and_does(sealed_checkout: Path) -> None:
        said, _ = run(sealed_checkout, "demo")
        assert said["prefix"] == str(sealed_checkout / ".venv")
        assert said["data"] is None

"""`./homing-compose`, with a stand-in for Docker that shows how it was called."""

import os
import pty
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
# This script replaces both Docker programs. `ps` prints the id of a running container if a test
# sets one. Other commands print their arguments and input, and exit with 3.
DOCKER = """#!/bin/sh
case "$*" in
*version) exit $HAS_PLUGIN ;;
*"ps --quiet"*) echo $CONTAINER ;;
*) printf '%s\\n' "${0##*/}" "$@"; cat; exit 3 ;;
esac
"""
Call = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Return a function that calls the script from a folder with one file."""
    checkout, programs = tmp_path / "checkout", tmp_path / "programs"
    for folder in (checkout, programs, tmp_path / "lists"):
        folder.mkdir()
    shutil.copy(ROOT / "homing-compose", checkout)
    (checkout / ".env").touch()
    (tmp_path / "lists" / "readers.csv").touch()
    for name in ("docker", "docker-compose"):
        (programs / name).write_text(DOCKER)
        (programs / name).chmod(0o755)

    def call(
        *arguments: str, terminal: int | None = None, **variables: str
    ) -> "subprocess.CompletedProcess[str]":
        environment = {"PATH": f"{programs}:{os.environ['PATH']}", "CONTAINER": "1a2b"}
        streams: dict[str, Any] = {"input": "the input\n", "capture_output": True}
        if terminal is not None:
            streams = {"stdin": terminal, "stdout": terminal}
        return subprocess.run(
            [checkout / "homing-compose", *arguments],
            cwd=tmp_path / "lists",
            env={**environment, "HAS_PLUGIN": "0", **variables},
            text=True,
            check=False,
            **streams,
        )

    return call


@pytest.mark.parametrize(
    ("has_plugin", "program"), [("0", ["docker", "compose"]), ("1", ["docker-compose"])]
)
def test_a_command_gets_arguments_input_and_the_current_folder(
    call: Call, tmp_path: Path, has_plugin: str, program: list[str]
) -> None:
    title = "Low  tide, 'and' $HOME"
    ended = call("publish", "--title", title, HAS_PLUGIN=has_plugin)
    assert ended.returncode == 3
    assert ended.stdout.splitlines() == [
        *(*program, "run", "--rm", "--no-deps", "-T"),
        *("--user", f"{os.geteuid()}:{os.getegid()}"),
        *("--volume", f"{tmp_path}/lists:/here", "--workdir", "/here"),
        *("web", "python", "/homing/manage.py", "publish", "--title", title, "the input"),
    ]


def test_a_worker_gets_the_lists_of_unsent_calls(call: Call) -> None:
    ended = call("deliver", "--until-empty")
    assert ended.stdout.splitlines()[4:-1] == [
        *("--no-deps", "-T", "worker", "python", "manage.py", "deliver", "--until-empty")
    ]


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("audit", False),
        ("createsuperuser", True),
        ("changepassword anna", True),
        ("accounts add ines --password-stdin", True),
        ("publish --title shell", False),
    ],
)
def test_lines_pasted_after_a_command_are_left_to_the_shell(
    call: Call, command: str, asks: bool
) -> None:
    ours, terminal = pty.openpty()
    os.write(ours, b"typed\n\x04next line\n")
    ended = call(*command.split(), terminal=terminal)
    assert ended.returncode == 3
    shown = ""
    # The terminal shows the typed lines first, and may pass the rest on a little later.
    while command.split()[-1] not in shown.split():
        shown += os.read(ours, 4096).decode()
    assert ("-T" in shown.split()) == (not asks)
    assert os.read(terminal, 100) == (b"next line\n" if asks else b"typed\n")
    os.close(ours)
    os.close(terminal)


def test_it_says_what_is_missing(call: Call, tmp_path: Path) -> None:
    def refusal(*arguments: str, **variables: str) -> str:
        ended = call(*arguments, **variables)
        assert (ended.returncode, ended.stdout) == (2, "")
        return ended.stderr.removeprefix("homing-compose: ")

    assert refusal("audit", CONTAINER="").startswith("the container of PostgreSQL was not ")
    for path in ("../lists/readers.csv", f"{tmp_path}/new.csv", "./../new.csv", "a/../../b"):
        for argument in (path, f"--rejects={path}"):
            sentence = refusal("import_subscribers", argument)
            assert sentence.startswith(f"“{path}” is outside the current folder. ")
    (tmp_path / "checkout" / ".env").unlink()
    assert refusal("audit").startswith("there is no file .env in ")
    (tmp_path / "checkout" / ".env").touch()
    for name in ("docker", "docker-compose"):
        (tmp_path / "programs" / name).unlink()
    only = {"PATH": f"{tmp_path}/programs"}
    for name in ("sed", "dirname", "readlink", "id", "sh"):
        (tmp_path / "programs" / name).symlink_to(str(shutil.which(name)))
    assert refusal("audit", **only).startswith("neither docker compose nor docker-compose was ")

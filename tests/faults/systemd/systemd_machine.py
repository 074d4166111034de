"""Run a machine in separate namespaces, on which systemd runs the shipped units."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.wait_until import eventually
from tests.installed_programs import program
from tests.postgres_cluster import ROOT

SCRIPT = Path(__file__).with_name("boot_systemd.sh")
NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--ipc", "--uts")
ENVIRONMENT = "/etc/homing/homing.env"
PATIENCE_S = 100


class SystemdMachine:
    """The running machine. Units and settings are installed as in docs/deploy.md."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._log = folder / "log"

    def _init(self) -> str:
        """Return the process id of systemd, which `unshare` forked."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return children.read_text().strip()

    def is_up(self) -> bool:
        """Return whether systemd has started everything."""
        assert self._process.poll() is None, self._log.read_text()
        return bool(self._init()) and self.run("systemctl", "is-system-running")[1] == "running"

    def run(self, *command: str, text: str = "") -> tuple[int, str]:
        """Run a command as root on the machine; return its exit code and output."""
        done = subprocess.run(
            [
                *("nsenter", "--target", self._init(), "--mount", "--pid"),
                *("env", "--chdir=/opt/homing", *command),
            ],
            input=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.strip()

    def must(self, *command: str, text: str = "") -> str:
        """Run a command that must succeed; return its output."""
        code, output = self.run(*command, text=text)
        assert code == 0, f"{command}: {output}\n{self.journal()}"
        return output

    def install(self, port: int, settings: dict[str, str]) -> None:
        """Write the settings, and install the units with another port for the site."""
        lines = "".join(f'{name}="{value}"\n' for name, value in settings.items())
        self.write(ENVIRONMENT, lines)
        self.must("sh", "-c", "cp deploy/systemd/* /etc/systemd/system/")
        socket = f"[Socket]\nListenStream=\nListenStream=127.0.0.1:{port}\n"
        self.write("/etc/systemd/system/homing-web.socket.d/port.conf", socket)
        self.must("systemctl", "daemon-reload")

    def write(self, path: str, text: str) -> None:
        """Write a file that every user of the machine may read."""
        self.must("install", "-D", "-m", "644", "/dev/stdin", path, text=text)

    def homing(self, *command: str) -> str:
        """Run a command of Homing as an operator would type it; return all its output."""
        typed = f'set -a; . {ENVIRONMENT}; set +a; exec .venv/bin/python manage.py "$@"'
        return self.run("sh", "-c", typed, "sh", *command)[1]

    def journal(self) -> str:
        """Return the latest lines of the units' logs."""
        return self.run("journalctl", "--no-pager", "-o", "cat", "-n", "60")[1]


@contextmanager
def systemd_machine() -> Iterator[SystemdMachine]:
    """Boot a machine, and stop everything on it at the end."""
    if os.geteuid() != 0:
        pytest.skip("This test boots a systemd, which needs root.")
    program("systemd-analyze", package="systemd")
    folder = Path(tempfile.mkdtemp(prefix="homing-systemd-"))
    (folder / "machine").mkdir()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *("unshare", *NAMESPACES, "sh", str(SCRIPT), str(folder / "machine")),
                *(str(ROOT), sys.prefix, sys.base_prefix),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        machine = SystemdMachine(folder, process)
        eventually(machine.is_up, "systemd runs")
        yield machine
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)

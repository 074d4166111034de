"""Build and run the image without a container engine.

The image has the files of `COPY . .`, a virtual environment from the named lock, and the results
of the RUN lines. A process then runs on a root file system that is read-only except for /tmp, under
the user of the USER line. The engine's network and limits are missing.
"""

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
# A Python that every user may run; one in a home folder may be closed to others.
PYTHON = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or sys.executable
# The values of the ARG lines.
ARGUMENTS = {"HOMING_VERSION": "1.0", "HOMING_COMMIT": "0123456789abcdef0123456789abcdef01234567"}
CHROOT = shutil.which("chroot", path="/usr/sbin:/usr/bin") or "chroot"


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions: each word, and its rest on one line."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    split = (line.partition(" ") for line in lines if line)
    return [(word, " ".join(rest.split())) for word, _, rest in split]


class Image:
    """Folder with the content of the image's working directory."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "homing"
        self.root.mkdir()
        self.venv = folder / "venv"
        self._folder = folder
        self._copy()
        self._run_lines()
        folder.chmod(0o755)

    @property
    def user(self) -> str:
        """Return the user of its processes, such as `10001:10001`."""
        return next(rest for word, rest in instructions() if word == "USER")

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of its ENV lines, and the path of its programs."""
        variables = " ".join(rest for word, rest in instructions() if word == "ENV")
        pairs = dict(pair.split("=", 1) for pair in shlex.split(variables))
        return {**pairs, "PATH": f"{self.venv}/bin:/usr/bin:/bin", "HOME": "/nonexistent"}

    @property
    def command(self) -> list[str]:
        [command] = [rest for word, rest in instructions() if word == "CMD"]
        return [str(part) for part in yaml.safe_load(command)]

    def _copy(self) -> None:
        lines = (ROOT / ".dockerignore").read_text().splitlines()
        ignored = [line.rstrip("/") for line in lines if line and not line.startswith("#")]
        git = ("git", "-c", "safe.directory=*", "ls-files", "-coz", "--exclude-standard")
        tracked = subprocess.check_output(git, cwd=ROOT, text=True).split("\0")
        for name in filter(None, tracked):
            is_ignored = any(fnmatch.fnmatch(name.split("/")[0], pattern) for pattern in ignored)
            if not is_ignored and (ROOT / name).exists():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.root / name)

    def _run_lines(self) -> None:
        subprocess.run([PYTHON, "-m", "venv", self.venv], check=True)
        for word, line in instructions():
            if word == "RUN":
                # The user exists only as a number; this machine's list of users stays unchanged.
                line = re.sub(r"&& useradd .*?nologin homing", "", line)
                self._run(line.replace(" /var/lib/", f" {self._folder}/"))

    def _run(self, line: str) -> None:
        environment = {
            **way_to_packages(),
            **ARGUMENTS,
            **self.environment,
            "HOME": str(self._folder),
        }
        subprocess.run(["sh", "-ec", line], cwd=self.root, env=environment, check=True)

    def start(
        self, *command: str, settings: dict[str, str], **options: Any
    ) -> subprocess.Popen[str]:
        """Start a process as a container does: read-only but for /tmp, no privileges.

        It needs root to mount.
        """
        if os.geteuid() != 0:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(
                "This test mounts a read-only file system. Run it as root."
            )
        uid, gid = self.user.split(":")
        script = (
            f"mount --bind / {self._folder}/root && mount -o remount,bind,ro {self._folder}/root\n"
            f"mount -t tmpfs tmpfs {self._folder}/root/tmp\n"
            f"mkdir -p {self._folder}/root{self._folder}\n"
            f"mount --rbind {self._folder} {self._folder}/root{self._folder}\n"
            f"mount -o remount,bind,ro {self._folder}/root{self._folder}\n"
            f"mount --rbind /dev {self._folder}/root/dev\n"
            f"mount --rbind /proc {self._folder}/root/proc\n"
            f"exec {CHROOT} --userspec={uid}:{gid} {self._folder}/root "
            f'sh -c \'cd {self.root} && exec "$@"\' sh "$@"\n'
        )
        (self._folder / "root").mkdir(exist_ok=True)
        return subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", *command],
            env={**self.environment, **settings},
            text=True,
            **options,
        )


def way_to_packages() -> dict[str, str]:
    """Return this machine's variables, if any, for access to a package index."""
    names = ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE")
    return {k: v for k, v in os.environ.items() if k.startswith("PIP_") or k in names}

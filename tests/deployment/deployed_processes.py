"""Parts of a complete Homing, each a process that can be started and stopped.

These are the parts that docker-compose.yml starts in containers, with a TLS proxy in front. The
proxy uses deploy/nginx.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.deployment.served_site import serve
from tests.postgres_cluster import ROOT

PATIENCE_S = 180.0
LOOK_EVERY_S = 0.05
LAST_WORDS = 40
# A fault in a log. "The database cannot be reached" is expected while PostgreSQL restarts.
FAULT = re.compile(r'"status": 500|Traceback|^(?!.*the database cannot be reached).*"error": ')


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_until(so: Callable[[], bool], what: str) -> None:
    """Wait until a condition is true, or raise RuntimeError."""
    nothing = threading.Event()
    end = time.monotonic() + PATIENCE_S
    while not so():
        if time.monotonic() > end:
            raise RuntimeError(f"not in time: {what}")
        nothing.wait(LOOK_EVERY_S)


def takes_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Program:
    """Process with a command and an environment; its output goes to a file."""

    def __init__(self, name: str, command: list[str], folder: Path, **environment: str) -> None:
        self.name = name
        self._command = command
        self._environment = environment
        self.log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.begun = 0

    def begin(self) -> None:
        self.begun += 1
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=os.environ | self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    @property
    def is_running(self) -> bool:
        """Return whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.send_signal(number)
        assert self._process is not None
        return self._process.wait(PATIENCE_S)

    def send_signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(number)

    def last_lines(self) -> str:
        if not self.log.exists():
            return ""
        lines = self.log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if FAULT.search(line)]
        return "\n".join([*errors[:LAST_WORDS], *lines[-LAST_WORDS:]])


def web_server(name: str, port: int, folder: Path, **environment: str) -> Program:
    """Return one web server with one process."""
    return Program(name, serve(f"127.0.0.1:{port}"), folder, **environment)


def worker(name: str, folder: Path, **environment: str) -> Program:
    return Program(name, [sys.executable, "manage.py", "deliver"], folder, **environment)


def proxy(port: int, ports: list[int], folder: Path, *, plain_port: int | None = None) -> Program:
    """Return the proxy of deploy/nginx, on loopback, before these web servers.

    `port` speaks TLS, `plain_port` plain HTTP. Without `plain_port` the part for plain HTTP is left
    out.
    """
    certificate(folder)
    site = (ROOT / "deploy" / "nginx" / "homing.conf").read_text()
    site = re.sub(r"/etc/letsencrypt/live/[^/]+/", f"{folder}/", site)
    site = site.replace("/var/log/nginx/", f"{folder}/")
    servers = "\n".join(
        f"    server 127.0.0.1:{there} max_fails=1 fail_timeout=2s;" for there in ports
    )
    site = re.sub(r"    server 127\.0\.0\.1:8000 .*", servers, site)
    if plain_port is None:
        site = re.sub(r"server \{\n    listen 80;.*?\n\}\n", "", site, flags=re.DOTALL)
    site = re.sub(r"    listen \[::\]:.*\n", "", site)
    site = site.replace("listen 80;", f"listen 127.0.0.1:{plain_port};")
    site = site.replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    (folder / "site.conf").write_text(site)
    shutil.copy(ROOT / "deploy" / "nginx" / "homing-proxy.conf", folder)
    temporary = " ".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    # nginx needs write access to store request bodies in this folder, which only we can enter.
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/nginx.pid; error_log stderr warn;\n"
        f"events {{ worker_connections 1024; }}\n"
        f"http {{ {temporary} include {folder}/site.conf; }}\n"
    )
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        raise RuntimeError("no nginx was found on this machine: install the package nginx")
    return Program("proxy", [nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")], folder)


def certificate(folder: Path) -> None:
    """Create a key and a certificate for 127.0.0.1, valid only for this test."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"),
            *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")),
        ],
        check=True,
        capture_output=True,
    )

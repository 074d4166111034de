"""Run nginx with the files of deploy/nginx in front of a site."""

import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.deployment.served_site import PATIENCE_S
from tests.faults.wait_until import eventually
from tests.installed_programs import program
from tests.postgres_cluster import ROOT


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def takes_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def running_proxy(
    site_port: int, folder: Path, *, plain_port: int | None = None
) -> Iterator[Callable[[], socket.socket]]:
    """Run the proxy for a site. Yield a function that connects to the proxy with TLS."""
    nginx = program("nginx", package="nginx")
    program("openssl", package="openssl")
    certificate(folder)
    context = ssl.create_default_context(cafile=folder / "fullchain.pem")
    port, log = free_port(), folder / "nginx.log"
    command = [nginx, "-p", str(folder), "-c", _configure(port, site_port, folder, plain_port)]

    def connect() -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        return context.wrap_socket(plain, server_hostname="127.0.0.1")

    with log.open("wb") as output, subprocess.Popen(command, stderr=output) as process:
        try:
            eventually(
                lambda: takes_connections(port) or process.poll() is not None, "nginx listens"
            )
            assert process.poll() is None, log.read_text()
            assert "[warn]" not in log.read_text()
            yield connect
        finally:
            process.terminate()


def _configure(port: int, site_port: int, folder: Path, plain_port: int | None) -> Path:
    """Write the configuration of deploy/nginx for loopback, and return its path.

    If `plain_port` is missing, the part for plain HTTP is left out.
    """
    site = (ROOT / "deploy" / "nginx" / "homing.conf").read_text()
    site = re.sub(r"/etc/letsencrypt/live/[^/]+/", f"{folder}/", site)
    site = site.replace("/var/log/nginx/", f"{folder}/")
    site = site.replace("server 127.0.0.1:8000 ", f"server 127.0.0.1:{site_port} ")
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
    # nginx needs write access to store request bodies in this folder, which only the user of the
    # tests can enter.
    user = "user root;" if os.geteuid() == 0 else ""
    file = folder / "nginx.conf"
    file.write_text(
        f"{user} daemon off; pid {folder}/nginx.pid; error_log stderr warn;\n"
        f"events {{ worker_connections 1024; }}\n"
        f"http {{ {temporary} include {folder}/site.conf; }}\n"
    )
    return file


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

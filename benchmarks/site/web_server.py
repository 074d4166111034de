"""The web server: `manage.py serve`."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.site.site import ROOT, Site

UP_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class WebServer:
    """Address of the web server, and its main process."""

    address: str
    pid: int


@contextmanager
def a_web_server(site: Site) -> Iterator[WebServer]:
    """Run the site's web server for the block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        process = subprocess.Popen(
            [
                *(sys.executable, "manage.py", "serve"),
                *("--bind", f"fd://{listener.fileno()}"),
            ],
            cwd=ROOT,
            env=site.environment,
            pass_fds=[listener.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_until_up(address, process)
            yield WebServer(address, process.pid)
        finally:
            process.terminate()
            process.wait()


def _wait_until_up(address: str, process: subprocess.Popen[bytes]) -> None:
    import requests

    line = requests.Session()
    line.trust_env = False  # ignore proxies that the environment names
    until = time.monotonic() + UP_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        # The listener accepts connections before a process can answer.
        try:
            if line.get(f"{address}/health/live/", timeout=UP_WITHIN_S).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    raise RuntimeError(f"The web server did not answer within {UP_WITHIN_S:g} s.")

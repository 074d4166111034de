"""The web server: `manage.py serve`."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import requests

from benchmarks.site.site import Site

UP_WITHIN_S = 30.0


@contextmanager
def a_web_server(site: Site) -> Iterator[str]:
    """Run the site's web server for the block; yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        bind = f"127.0.0.1:{free.getsockname()[1]}"
    with site.running("serve", "--bind", bind) as process:
        _wait_until_up(f"http://{bind}", process)
        yield f"http://{bind}"


def _wait_until_up(address: str, process: subprocess.Popen[str]) -> None:
    line = requests.Session()
    line.trust_env = False  # ignore proxies that the environment names
    until = time.monotonic() + UP_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        try:
            if line.get(f"{address}/health/live/", timeout=UP_WITHIN_S).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    raise RuntimeError(f"The web server did not answer within {UP_WITHIN_S:g} s.")

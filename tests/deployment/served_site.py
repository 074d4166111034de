"""The site as `manage.py serve` serves it, outside debug mode."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import requests

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60
# Headers that the proxy adds to every request.
FROM_THE_PROXY = {"Host": "letter.example.org", "X-Forwarded-Proto": "https"}


def serve(bind: str, *, processes: int = 1) -> list[str]:
    """Return the command that serves the site at this address."""
    options = ("--bind", bind, "--processes", str(processes))
    return [sys.executable, "manage.py", "serve", *options]


class ServedSite:
    """A running site, called as its proxy calls it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, **headers: str) -> requests.Response:
        """Return the answer to one GET; do not follow redirects."""
        return self._ask("GET", path, headers)

    def head(self, path: str, **headers: str) -> requests.Response:
        return self._ask("HEAD", path, headers)

    def post_in_pieces(self, path: str, body: bytes, **headers: str) -> requests.Response:
        """Return the answer to one POST without a Content-Length."""
        return self._ask("POST", path, headers, iter([body]))

    def _ask(
        self, method: str, path: str, headers: dict[str, str], body: Iterator[bytes] | None = None
    ) -> requests.Response:
        return requests.request(
            method,
            self.url + path,
            data=body,
            headers={**FROM_THE_PROXY, **headers},
            timeout=PATIENCE_S,
            allow_redirects=False,
        )

    def post_and_hang_up(self, path: str, body: bytes, **headers: str) -> str:
        """Return the answer to a POST that ends after `body`, before its stated length."""
        given = {**FROM_THE_PROXY, "Connection": "close", **headers}
        lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        parts = urlsplit(self.url)
        place = (str(parts.hostname), int(parts.port or 0))
        with socket.create_connection(place, PATIENCE_S) as line:
            line.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
            line.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := line.recv(65536):
                answer += piece
        return answer.decode()


@contextmanager
def served_site(database_url: str, **settings: str) -> Iterator[ServedSite]:
    """Start a site with these settings in addition to the tests', and stop it.

    This process binds the socket and passes it on, so connections that arrive early wait in the
    socket's backlog.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = subprocess.Popen(
            serve(f"fd://{listener.fileno()}"),
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database_url, "TRUST_PROXY": "on", **settings},
            pass_fds=[listener.fileno()],
        )
        try:
            yield ServedSite(f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            process.terminate()
            process.wait(timeout=PATIENCE_S)

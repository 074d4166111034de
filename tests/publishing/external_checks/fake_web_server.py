"""A web server on loopback. Paths say what to answer: /404, /to?u=…, /bytes-9.

A path in `paths` gets the answer of another path. A path in `files` gets the content in `files`.
"""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # The queue must be long. If the queue is full, a client waits a second until it connects again.
    request_queue_size = 128


class LocalWebServer:
    """A web server that records every request as (method, Host header, path)."""

    def __init__(self, certificate: str = "") -> None:
        self.requests: list[tuple[str, str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.files: dict[str, bytes] = {}
        self.paths: dict[str, str] = {}
        self.let_go = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer()

            def do_GET(self) -> None:
                self._answer()

            def _answer(self) -> None:
                site.requests.append((self.command, self.headers["Host"], self.path))
                site.headers.append(dict(self.headers.items()))
                parts = urlsplit(site.paths.get(self.path, self.path))
                name = parts.path.rsplit("/", 1)[-1]
                if name == "hang":
                    site.let_go.wait(30)
                    return
                if name == "drip":
                    self._drip()
                    return
                content = b"x" * int(name.split("-")[1]) if name.startswith("bytes-") else b""
                content = site.files.get(self.path, content)
                if name == "to":
                    self.send_response(302)
                    self.send_header("Location", parse_qs(parts.query)["u"][0])
                elif name.startswith("onwards-") and name != "onwards-0":
                    self.send_response(301)
                    self.send_header("Location", f"onwards-{int(name[8:]) - 1}")
                elif name.startswith("head-") and self.command == "HEAD":
                    self.send_response(int(name.removeprefix("head-")))
                else:
                    self.send_response(int(name) if name.isdigit() else 200)
                self.send_header("Content-Length", str(len(content) + name.endswith("-cut")))
                self.end_headers()
                self.wfile.write(content)

            def _drip(self) -> None:
                try:
                    while not site.let_go.wait(0.05):
                        self.wfile.write(b"H")
                        self.wfile.flush()
                except OSError:
                    pass

            def log_message(self, *args: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> LocalWebServer:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.let_go.set()
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()

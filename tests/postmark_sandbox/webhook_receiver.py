"""A real server that receives the sandbox's webhooks."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """A receiver of webhooks that answers with each of `statuses` once, then with 200.

    `moves`: paths that redirect, each with its status and Location. `got`: the headers (with the
    path) and the JSON of each post.
    """

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.statuses: list[int] = []
        self.moves: dict[str, tuple[int, str]] = {}
        self._changed = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                headers["path"] = self.path
                status, location = receiver.moves.get(self.path, (0, ""))
                read = json.loads(body)
                with receiver._changed:
                    if not status:
                        status = receiver.statuses.pop(0) if receiver.statuses else 200
                        receiver.got.append((headers, read))
                    receiver._changed.notify_all()
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.port = self._server.server_address[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.url = f"http://pm:s%3Acret@127.0.0.1:{self.port}/hooks/?a=b"

    def events(self, count: int) -> list[dict[str, Any]]:
        """Return the first `count` events once they have arrived."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.got) >= count, 20), self.got
            return [event for _, event in self.got[:count]]

    def __enter__(self) -> "Receiver":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

"""Slow clients of a web server, and probes that measure how soon it answers."""

import http.client
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.deployment.deployed_processes import free_port, wait_until, web_server
from tests.proofs.proof import Finding

PATHS = ("/subscriptions/", "/record/", "/admin/login/", "/webhooks/postmark/", "/api/v1/issues/")
PROBES = ("/health/live/", "/health/ready/", "/health/workers/")
PROBE_EVERY_S = 0.25
WITHIN_S = 1.0
PATIENCE_S = 30.0
FROM_THE_PROXY = "Host: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n"
FORM = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000\r\n"


@dataclass
class Probes:
    """The findings of the probes; `longest_s` is the longest wait for an answer."""

    clients: int
    answered: int = 0
    failed: int = 0
    longest_s: float = 0.0

    def judge(self, finding: Finding) -> None:
        """Expect that every probe was answered within a second."""
        finding.expect(self.answered > 0, "no probe was answered")
        finding.expect(not self.failed, f"{self.failed} probes got no answer")
        finding.expect(
            self.longest_s <= WITHIN_S, f"a probe waited {self.longest_s:.2f} s, not {WITHIN_S:g} s"
        )
        finding.figures.append(
            f"beside {self.clients} slow clients {self.answered} probes, the longest "
            f"{self.longest_s * 1000:.0f} ms"
        )


@contextmanager
def slow_clients(count: int, folder: Path, **environment: str) -> Iterator[Probes]:
    """Serve the site to `count` slow clients and probe it until the block ends."""
    port, ended = free_port(), threading.Event()
    web = web_server("web", port, folder, TRUST_PROXY="on", **environment)
    web.begin()
    probes = Probes(count)
    threads = [
        threading.Thread(target=_send_slowly, args=[port, number, ended], daemon=True)
        for number in range(count)
    ]
    threads.append(threading.Thread(target=_probe, args=[port, probes, ended], daemon=True))
    try:
        # The server listens before it has loaded the site.
        wait_until(lambda: _answers(port), "the web server answered")
        for thread in threads:
            thread.start()
        yield probes
    finally:
        ended.set()
        web.end()  # which ends the connections of clients that still send
        for thread in threads:
            thread.join(PATIENCE_S)


def _send_slowly(port: int, number: int, ended: threading.Event) -> None:
    """Send a header and three bytes, wait to be refused, and begin again."""
    for turn in itertools.count(number):
        path = PATHS[turn % len(PATHS)]
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE_S) as line:
            line.sendall(f"POST {path} HTTP/1.1\r\n{FROM_THE_PROXY}{FORM}\r\na=b".encode())
            while line.recv(65536):
                pass
        if ended.wait(PROBE_EVERY_S):
            return


def _probe(port: int, probes: Probes, ended: threading.Event) -> None:
    for turn in itertools.count():
        began = time.monotonic()
        is_answered = _answers(port, PROBES[turn % len(PROBES)])
        if ended.is_set():
            return  # the server may have been stopped meanwhile
        probes.answered += is_answered
        probes.failed += not is_answered
        probes.longest_s = max(probes.longest_s, time.monotonic() - began)
        ended.wait(PROBE_EVERY_S)


def _answers(port: int, probe: str = PROBES[0]) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as line:
        try:
            line.request("GET", probe)
            line.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
    return True

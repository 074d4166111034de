"""
A provider that answers at once, so that a benchmark measures the sender and not the sandbox.

Runs in a process of its own: `python benchmarks/instant_provider.py` prints its address. It reads
each call, counts its messages and answers as Postmark would; it checks and keeps nothing. With a
delay as its argument, in milliseconds, it answers that much later.
"""

from __future__ import annotations

import itertools
import socketserver
import sys
import time
import uuid

import orjson

SUBMITTED_AT = "2026-05-04T14:15:22.9870001Z"
RUN = str(uuid.uuid4())[:23]
NUMBERS = itertools.count()


class Call(socketserver.StreamRequestHandler):
    """One connection, kept open for many calls."""

    disable_nagle_algorithm = True
    delay_s = 0.0

    def handle(self) -> None:
        while request := self.rfile.readline():
            length = 0
            while (line := self.rfile.readline()) not in {b"\r\n", b""}:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            parsed = orjson.loads(self.rfile.read(length)) if length else {}
            if self.delay_s:
                time.sleep(self.delay_s)
            body = orjson.dumps(self.answer(request, parsed))
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                % len(body)
                + body
            )

    def answer(self, request: bytes, parsed: object) -> object:
        """A result for each message, or for the one."""
        if isinstance(parsed, list):
            return [self.result(message["To"]) for message in parsed]
        if isinstance(parsed, dict) and "To" in parsed:
            return self.result(parsed["To"])
        return {"TotalCount": 0, "Messages": []}

    def result(self, to: str) -> dict[str, object]:
        """An acceptance."""
        return {
            "To": to,
            "SubmittedAt": SUBMITTED_AT,
            # As long as Postmark's and never twice the same; a real UUID each would take the
            # machine's time away from those who are being measured.
            "MessageID": f"{RUN}-{next(NUMBERS):012x}",
            "ErrorCode": 0,
            "Message": "OK",
        }


class Provider(socketserver.ThreadingTCPServer):
    """Listens on a free port of this machine."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256


if __name__ == "__main__":
    Call.delay_s = float(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.0
    with Provider(("127.0.0.1", 0), Call) as provider:
        print(f"http://127.0.0.1:{provider.server_address[1]}", flush=True)
        provider.serve_forever()

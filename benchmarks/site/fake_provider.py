"""A provider that answers at once and uses little CPU.

Run `python -m benchmarks.site.fake_provider` as a separate process; it prints its address. The
provider answers as Postmark does, counts calls and messages, and checks nothing. The provider
shares the cores with the measured sender, so the provider saves CPU time. The provider does not
parse requests, finds the addresses with one regular expression, and joins the answer from bytes.

`--delay-ms` delays every answer. The provider remembers the delivery key of each message, which
takes about 50 bytes for each. The provider returns its counts at this address:

    GET /counts     {"calls": …, "messages": …, "bytes": …, "readers": …}
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import re
import secrets
import socket
import sys
import threading
import time
from dataclasses import dataclass, field

import orjson

SUBMITTED_AT = b"2026-05-04T14:15:22.9870001Z"
# Quotation marks inside a JSON string are escaped, so `"To":` can only be a key.
_ADDRESSES = re.compile(rb'"To":"([^"\\]*(?:\\.[^"\\]*)*)"')
_DELIVERIES = re.compile(rb'"Metadata":\{"delivery":"([^"\\]*)"')
_BETWEEN = b'"'
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+)", re.IGNORECASE)

_HEAD = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_FIRST_BUFFER_BYTES = 1 << 20
_LONGEST_HEAD_BYTES = 64 << 10


class ConnectionEndedError(Exception):
    """The client closed the connection, or does not speak HTTP."""


@dataclass(slots=True)
class Tally:
    """The counts of one connection; with separate counts, no lock is needed."""

    calls: int = 0
    messages: int = 0
    received_bytes: int = 0
    # Delivery keys of each call, joined by a character that no key contains.
    kept: list[bytes] = field(default_factory=list)


class Ids:
    """Unique ids as long as Postmark's, built without extra work.

    Real UUIDs would take CPU time from the measured sender. An id consists of the message's
    position in its call, the process and the call's number.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        run = secrets.token_hex(6)
        self._middle = f"-{run[:4]}-{run[4:8]}-{run[8:]}-".encode()
        self._places: list[bytes] = []

    def places(self, size: int) -> list[bytes]:
        """Return the text between address and id's end, for each message of a call."""
        while len(self._places) < size:
            self._places.append(
                b'","SubmittedAt":"%b","MessageID":"%08x%b'
                % (SUBMITTED_AT, len(self._places), self._middle)
            )
        return self._places[:size]

    def next_end(self) -> bytes:
        """Return the last part of an id, which is the same for all messages of a call."""
        return b"%012x" % next(self._numbers)


class Provider:
    """A server on a port of this machine, with one thread for each connection."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._ids = Ids()
        self._tallies: list[Tally] = []

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the process ends."""
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._talk, args=[connection], daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        """Serve one connection, which stays open for many calls."""
        tally = Tally()
        self._tallies.append(tally)
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            call = Call(connection)
            try:
                while True:
                    line, length = call.read()
                    status, body = self._answer(line, call, length, tally)
                    connection.sendall(_HEAD % (status, len(body)) + body)
            except (ConnectionEndedError, ConnectionError):
                return

    def _answer(self, line: bytes, call: Call, length: int, tally: Tally) -> tuple[bytes, bytes]:
        method, _, rest = line.partition(b" ")
        path = rest.partition(b" ")[0]
        if method == b"POST":
            try:
                body = self._accepted(call, length, tally)
            except ValueError as wrong:
                reply = {"ErrorCode": 402, "Message": str(wrong)}
                return b"422 Unprocessable Entity", orjson.dumps(reply)
            if self._delay_s:
                time.sleep(self._delay_s)
            return b"200 OK", body
        nothing_found = {"TotalCount": 0, "Messages": []}
        return b"200 OK", orjson.dumps(self._counts() if path == b"/counts" else nothing_found)

    def _accepted(self, call: Call, length: int, tally: Tally) -> bytes:
        """Return the body of the answer: a list, or one object for a single message."""
        start, end = call.start, call.start + length
        alone = call.buffer.startswith(b'{"', start, end)
        addresses = _ADDRESSES.findall(call.buffer, start, end)
        keys = _DELIVERIES.findall(call.buffer, start, end)
        if not addresses or len(keys) != len(addresses):
            raise ValueError("Expected the JSON of Homing, with a delivery in each message.")
        tally.calls += 1
        tally.messages += len(addresses)
        tally.received_bytes += length
        tally.kept.append(_BETWEEN.join(keys))
        size = len(addresses)
        # The answer has three parts for each message. The last part also begins the next message.
        parts = [b'","ErrorCode":0'] * (3 * size)
        parts[0::3] = addresses
        parts[1::3] = self._ids.places(size)
        close = b'%b","ErrorCode":0,"Message":"OK"}' % self._ids.next_end()
        parts[2::3] = [close + b',{"To":"'] * (size - 1) + [close]
        results = b'{"To":"' + b"".join(parts)
        return results if alone else b"[%b]" % results

    def _counts(self) -> dict[str, int]:
        readers = {
            key for tally in self._tallies for keys in tally.kept for key in keys.split(_BETWEEN)
        }
        return {
            "calls": sum(tally.calls for tally in self._tallies),
            "messages": sum(tally.messages for tally in self._tallies),
            "bytes": sum(tally.received_bytes for tally in self._tallies),
            "readers": len(readers),
        }


class Call:
    """A call that is read from a connection, in a buffer that is reused."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.buffer = bytearray(_FIRST_BUFFER_BYTES)
        self._filled = 0
        # The positions in the buffer where the body and the next call begin.
        self.start = 0
        self._next = 0

    def read(self) -> tuple[bytes, int]:
        """Wait for the next call; return its first line and its body's length in bytes."""
        left = self._filled - self._next
        self.buffer[:left] = self.buffer[self._next : self._filled]
        self._filled = left
        while (end := self.buffer.find(b"\r\n\r\n", 0, self._filled)) < 0:
            if self._filled >= _LONGEST_HEAD_BYTES:
                raise ConnectionEndedError
            self._receive(self._filled + _LONGEST_HEAD_BYTES, all_of_it=False)
        head = bytes(self.buffer[:end])
        given = _LENGTH.search(head)
        length = int(given[1]) if given else 0
        self.start = end + 4
        self._next = self.start + length
        if self._next > len(self.buffer):
            self.buffer.extend(bytes(self._next - len(self.buffer)))
        while self._filled < self._next:
            self._receive(self._next, all_of_it=True)
        return head.partition(b"\r\n")[0], length

    def _receive(self, until: int, *, all_of_it: bool) -> None:
        """Fill the buffer up to `until`. With `all_of_it`, one read waits for all bytes."""
        flags = socket.MSG_WAITALL if all_of_it else 0
        with memoryview(self.buffer) as view, view[self._filled : until] as room:
            came = self._connection.recv_into(room, 0, flags)
        if not came:
            raise ConnectionEndedError
        self._filled += came


def main() -> None:
    """Listen on a free port, print the address, and answer until the process ends."""
    options = argparse.ArgumentParser(description="A provider that answers at once.")
    options.add_argument("--delay-ms", type=float, default=0.0, help="delay of every answer")
    chosen = options.parse_args()
    if chosen.delay_ms < 0:
        sys.exit(f"--delay-ms is {chosen.delay_ms:g}; expected 0 or more milliseconds.")
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        # End silently on Ctrl-C, as on SIGTERM.
        with contextlib.suppress(KeyboardInterrupt):
            Provider(chosen.delay_ms / 1000).serve(listener)


if __name__ == "__main__":
    main()

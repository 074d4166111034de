"""An HTTP server that counts single messages and uses very little CPU.

listmonk's postback messenger sends each message in a call of its own. With a thread for each
connection, the server would use much of two cores, so one thread waits for all connections at once.
Run `python -m benchmarks.peers.sink` as a separate process; it prints its address. The server
answers each POST with 200 and an empty object. The server remembers the address in each message.

    GET /counts     {"calls": …, "messages": …, "bytes": …, "readers": …, "took_s": …}

`took_s` is the time from the first call to the last.
"""

import contextlib
import re
import select
import socket
import time

import orjson

# Quotation marks inside a JSON string are escaped, so this text can only be a key.
_ADDRESS = b'"email":"'
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+)", re.IGNORECASE)
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
_ACCEPTED = _ANSWER % (2, b"{}")
_BYTES_AT_ONCE = 1 << 13


class Sink:
    """All connections of one process, with the addresses that it has received."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._addresses: list[bytes] = []
        self._received_bytes = 0
        self._first_at = self._last_at = 0.0
        # For each connection: the part of its current call that has arrived so far.
        self._begun: dict[int, bytes] = {}

    def serve(self) -> None:
        """Answer calls until the process ends."""
        poll = select.epoll()
        poll.register(self._listener, select.EPOLLIN)
        connections: dict[int, socket.socket] = {}
        while True:
            for number, _ in poll.poll():
                if number == self._listener.fileno():
                    connection, _ = self._listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    connections[connection.fileno()] = connection
                    poll.register(connection, select.EPOLLIN)
                elif not self._talk(connections[number]):
                    self._begun.pop(number, None)
                    connections.pop(number).close()

    def _talk(self, connection: socket.socket) -> bool:
        """Read the bytes that have arrived, and answer a complete call.

        Return False if the client has closed the connection.
        """
        try:
            came = connection.recv(_BYTES_AT_ONCE)
        except ConnectionError:
            return False
        if not came:
            return False
        call = self._begun.pop(connection.fileno(), b"") + came
        end = call.find(b"\r\n\r\n")
        given = _LENGTH.search(call, 0, end) if end >= 0 else None
        length = int(given[1]) if given else 0
        if end < 0 or len(call) < end + 4 + length:
            self._begun[connection.fileno()] = call
            return True
        with contextlib.suppress(ConnectionError):
            connection.sendall(self._answer(call, end + 4, length))
        return True

    def _answer(self, call: bytes, start: int, length: int) -> bytes:
        if call.startswith(b"POST"):
            self._last_at = time.monotonic()
            self._first_at = self._first_at or self._last_at
            self._received_bytes += length
            address = call.index(_ADDRESS, start) + len(_ADDRESS)
            self._addresses.append(call[address : call.index(b'"', address)])
            return _ACCEPTED
        body = orjson.dumps(self._counts())
        return _ANSWER % (len(body), body)

    def _counts(self) -> dict[str, float]:
        number = len(self._addresses)
        return {
            "calls": number,
            "messages": number,
            "bytes": self._received_bytes,
            "readers": len(set(self._addresses)),
            "took_s": self._last_at - self._first_at,
        }


def main() -> None:
    """Listen on a free port, print the address, and answer until the process ends."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            Sink(listener).serve()


if __name__ == "__main__":
    main()

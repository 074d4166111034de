"""One connection of a visitor. No thread ever waits for bytes from the visitor."""

import socket
import time
from contextlib import suppress
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import WSGITask

from api.problem import ProblemType
from newsletter_site.serving.request_parser import BodyAwaited, RefusalTask, RequestParser

# If a body has not arrived after this time, ask the site whether it refuses the request because of
# the header.
ASKED_AFTER_S = 1.0
# A connection is closed if it has no request for this time, or if its client reads no byte of the
# answer for this time.
IDLE_S = 15
# While the process stops, a connection without a request is closed after this time.
IDLE_WHEN_STOPPING_S = 2.0
# After an early answer, the rest of the request is received and discarded for this long. If the
# connection were closed at once, the client could lose the answer.
LINGER_S = 10.0


class _Task(WSGITask):
    def __init__(self, channel: "Connection", request: RequestParser) -> None:
        super().__init__(channel, request)
        channel.is_unread = not request.completed
        if channel.server.is_stopping or channel.is_unread:
            super().set_close_on_finish()

    def set_close_on_finish(self) -> None:
        """Keep the connection after an answer without a body, such as 304.

        waitress would close it, because the answer has no length.
        """
        if self.has_body or self.request.connection_close or self.version == "1.0":
            super().set_close_on_finish()


class Connection(HTTPChannel):
    """A channel that asks the site before receiving a large or slow body.

    A complete request goes to a thread at once. For an incomplete request, the site runs until it
    refuses the header, or tries to read the body, which raises BodyAwaited. After BodyAwaited, the
    event loop receives the rest of the request, and the site runs again from the beginning.
    """

    parser_class = RequestParser
    task_class = _Task
    error_task_class = RefusalTask
    # The request that is still arriving, if any.
    request: RequestParser | None = None
    # True if the rest of the request that is being answered has not been received.
    is_unread = False
    _lingers_until_s: float | None = None

    def readable(self) -> bool:
        return self._lingers_until_s is not None or bool(super().readable())

    def handle_read(self) -> None:
        """Receive bytes, and answer clients that end their request early."""
        if not self.readable():
            return  # another thread started a request after this round of the event loop began
        try:
            data = self.socket.recv(self.adj.recv_bytes)
        except OSError:
            self._close()
            return
        if data and self._lingers_until_s is None:
            self.last_activity = time.time()
            self.received(data)
            if self.request is not None and self.request.on_disk and not self.requests:
                self._admit(self.request)
        elif not data and self.request is not None:
            # The site never gets the incomplete request, so it cannot mistake a part of a body for
            # the whole body.
            self._refuse(self.request, ProblemType.NOT_READABLE)
        elif not data:
            self._close()

    def service(self) -> None:
        """Run the site in a thread, to answer a request or to check only its header."""
        try:
            super().service()
        except BodyAwaited:
            with self.requests_lock:
                self.requests.clear()
            self.server.pull_trigger()

    def handle_close(self) -> None:
        """Close the connection, after discarding the unread rest of a request."""
        if not self.is_unread or self._lingers_until_s is not None:
            self._close()
            return
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
        self.request = None
        self.will_close = False
        self._lingers_until_s = time.monotonic() + LINGER_S

    def maintain(self, *, is_stopping: bool) -> None:
        """Close the connection, or refuse its request, if a time limit has passed.

        Runs once a second.
        """
        idle_s = time.time() - self.last_activity
        if self._lingers_until_s is not None:
            if is_stopping or self._lingers_until_s <= time.monotonic():
                self._close()
        elif self.total_outbufs_len:
            if idle_s > IDLE_S:
                self._close()
        elif self.requests:
            return
        elif self.request is None:
            if idle_s > (IDLE_WHEN_STOPPING_S if is_stopping else IDLE_S):
                self.will_close = True
        elif self.request.time_left_s() <= 0:
            self._refuse(self.request, ProblemType.TOO_SLOW)
        elif self.request.began_s + ASKED_AFTER_S < time.monotonic():
            self._admit(self.request)

    def on_disk(self) -> int:
        """Return the number of bytes of this connection's large bodies."""
        requests: list[Any] = [*self.requests, *filter(None, [self.request])]
        return sum(request.on_disk for request in dict.fromkeys(requests))

    def _admit(self, request: RequestParser) -> None:
        """Ask the site once about a request, unless the disk has no room for its body."""
        if request.is_asked:
            return
        if request.on_disk and not self.server.has_room():
            self._refuse(request, ProblemType.NOT_AVAILABLE)
        elif request.headers_finished and not request.chunked:
            # The site is not asked about a chunked request: without the body's length, the site
            # would take the body for empty.
            request.is_asked = True
            self._serve(request)

    def _refuse(self, request: RequestParser, kind: ProblemType) -> None:
        self.request = None
        request.refuse(kind)
        self._serve(request)

    def _serve(self, request: RequestParser) -> None:
        # While `requests` has an entry, the event loop receives no more bytes on this connection.
        with self.requests_lock:
            self.requests = [request]
        self.server.add_task(self)

    def _close(self) -> None:
        super().handle_close()

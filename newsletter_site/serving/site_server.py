"""One process of the site: waitress's event loop, which ends gracefully."""

import resource
import socket
import time
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from newsletter_site.operations.concurrency_limit import MAX_CONCURRENT_REQUESTS
from newsletter_site.serving.client_connection import IDLE_S, Connection
from newsletter_site.serving.listen import BACKLOG
from newsletter_site.serving.request_parser import HEADER_BYTES, IN_MEMORY, largest_body

# A request mostly waits for PostgreSQL, so threads are enough. Two threads are reserved for health
# checks, so that these are answered even while the database hangs.
THREADS = MAX_CONCURRENT_REQUESTS + 2
MOST_CONNECTIONS = 1000
# Limit the large bodies of all connections together to the size of this number of import files.
LARGEST_BODIES = 2
# When the server stops, running requests have this time to finish.
GRACEFUL_S = 30.0


class Server(TcpWSGIServer):
    """A server on a socket that other processes share."""

    channel_class = Connection

    def __init__(self, application: Any, listener: socket.socket) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        adjustments = Adjustments(
            sockets=[listener],
            threads=THREADS,
            backlog=BACKLOG,
            # A connection may have three open files.
            connection_limit=min(MOST_CONNECTIONS, max(soft - 200, 100) // 3),
            cleanup_interval=1,
            channel_timeout=IDLE_S,
            max_request_header_size=HEADER_BYTES,
            max_request_body_size=largest_body(),
            # Receive at most half of the longest header at once, so that the server has read the
            # path before it finds that a header is too long.
            recv_bytes=HEADER_BYTES // 2,
            inbuf_overflow=IN_MEMORY,
            log_socket_errors=False,
            # Keep a proxy's headers: the site reads them if TRUST_PROXY is on.
            clear_untrusted_proxy_headers=False,
            asyncore_use_poll=True,
            ident="",
        )
        self._stops_at_s: float | None = None
        self._threads = ThreadedTaskDispatcher()
        self._threads.set_thread_count(THREADS)
        super().__init__(
            application,
            {},
            _sock=listener,
            dispatcher=self._threads,
            adj=adjustments,
            sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
            bind_socket=False,
        )

    @property
    def is_stopping(self) -> bool:
        return self._stops_at_s is not None

    def stop(self) -> None:
        """Accept no more connections, and end when the last connection has closed.

        Thread-safe.
        """
        self.trigger.pull_trigger(self._begin_to_stop)

    def _begin_to_stop(self) -> None:
        self._stops_at_s = time.monotonic() + GRACEFUL_S
        wasyncore.dispatcher.close(self)

    def run(self) -> None:
        """Serve until `stop` is called and all running requests have been answered."""
        while not self._has_ended():
            # Wait at most one second, so that `maintenance` is called regularly below: while a
            # server stops, waitress does not call it.
            wasyncore.loop(timeout=1, use_poll=True, map=self._map, count=1)
            if self.is_stopping:
                self.maintenance(time.time())
        self._threads.shutdown(timeout=1)

    def _has_ended(self) -> bool:
        if self._stops_at_s is None:
            return False
        return not self.active_channels or time.monotonic() >= self._stops_at_s

    def maintenance(self, now: float) -> None:
        for connection in list(self.active_channels.values()):
            connection.maintain(is_stopping=self.is_stopping)

    def has_room(self) -> bool:
        """Return whether the large bodies of all connections are within the limit."""
        used: int = sum(connection.on_disk() for connection in self.active_channels.values())
        return used <= LARGEST_BODIES * largest_body()

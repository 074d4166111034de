"""Serve the site in one process, and report when requests begin and end.

Arguments: the file descriptors of the listening socket and of the pipe.
"""

import os
import signal
import socket
import sys

from newsletter_site.serving.client_connection import Connection
from newsletter_site.serving.site_server import Server
from newsletter_site.wsgi import application

LISTENER, PIPE = map(int, sys.argv[1:])


class ReportingConnection(Connection):
    """Report the beginning of a request, and its end after the whole answer."""

    def service(self) -> None:
        os.write(PIPE, b"+")
        try:
            super().service()
        finally:
            os.write(PIPE, b"-")


class ReportingServer(Server):
    """Serve the site with connections that report their requests."""

    channel_class = ReportingConnection


if __name__ == "__main__":
    server = ReportingServer(application, socket.socket(fileno=LISTENER))
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    server.run()

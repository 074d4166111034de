"""The site of the demo: which port it gets, and how its web server is started."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping

from newsletter_site.demo.children import Children

HOST = "127.0.0.1"
DEFAULT_PORT = 8000
ANY_PORT = 0


def listening_socket() -> socket.socket:
    """
    A socket that listens on the usual port, or on a free one if that is taken.

    The web server inherits it, so that nobody can take the port in between.
    """
    try:
        return socket.create_server((HOST, DEFAULT_PORT))
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        return socket.create_server((HOST, ANY_PORT))


def address_of(listener: socket.socket) -> str:
    """The address of the site, without a slash at its end."""
    return f"http://{HOST}:{listener.getsockname()[1]}"


def start_site(children: Children, environment: Mapping[str, str], listener: socket.socket) -> None:
    """Start the web server. Whoever connects before it is ready waits in the socket's queue."""
    with listener:
        children.start(
            "web server",
            *("gunicorn", "newsletter_site.wsgi", "--bind", f"fd://{listener.fileno()}"),
            *("--worker-class", "newsletter_site.web_worker.BufferingWorker"),
            *("--workers", "2", "--threads", "4"),
            *("--graceful-timeout", "3", "--no-control-socket"),
            environment=environment,
            keep_open=[listener.fileno()],
        )

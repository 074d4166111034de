"""The socket that all processes of the site share."""

import os
import socket
from ipaddress import ip_address

BACKLOG = 1024
DEFAULT = "127.0.0.1:8000"
# The file descriptor of the first socket that systemd passes to a unit (sd_listen_fds).
FIRST_FROM_SYSTEMD = 3


def listen(address: str, port: int | None) -> socket.socket:
    """Return a listening socket. Call this before any process is forked.

    `address` is HOST:PORT or fd://NUMBER. If `address` is empty, use systemd's socket. Without
    systemd's socket, listen on `port` at every address of the machine. Without `port`, listen at
    127.0.0.1:8000. Raise OSError or ValueError on failure.
    """
    if not address and os.environ.get("LISTEN_PID") == str(os.getpid()):
        address = f"fd://{FIRST_FROM_SYSTEMD}"
    if address.startswith("fd://"):
        return socket.socket(fileno=int(address.removeprefix("fd://")))
    if not address and port:
        return _listen_everywhere(port)
    host, _, number = (address or DEFAULT).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, int(number)), family=family, backlog=BACKLOG)


def is_loopback(listener: socket.socket) -> bool:
    """Return whether only programs on this machine can reach the socket."""
    name = listener.getsockname()
    return isinstance(name, tuple) and ip_address(name[0]).is_loopback


def describe(listener: socket.socket) -> str:
    """Return the address of a socket, such as “[::]:8000”."""
    name = listener.getsockname()
    if not isinstance(name, tuple):
        return str(name)
    return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"


def _listen_everywhere(port: int) -> socket.socket:
    """Listen on all addresses of IPv6 and IPv4, or of IPv4 on a machine without IPv6."""
    try:
        # Use one socket for IPv6 and IPv4, whatever the system's setting net.ipv6.bindv6only is.
        return socket.create_server(
            ("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=BACKLOG
        )
    except (OSError, ValueError):  # ValueError: the kernel has no IPv6
        return socket.create_server(("0.0.0.0", port), backlog=BACKLOG)  # noqa: S104

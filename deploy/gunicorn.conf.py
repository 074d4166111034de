"""
Settings of the web server, in a container, under systemd and on a platform.

    gunicorn --config deploy/gunicorn.conf.py newsletter_site.wsgi

It reads the variables `WEB_CONCURRENCY` (processes) and `PORT`. Restart it for a new version or new
settings. A HUP is not enough: the new processes would keep the modules that are already loaded.
"""

import os
import socket
import sys
from ipaddress import ip_address
from typing import Any

from newsletter_site import settings
from newsletter_site.logs.process_name import name_this_process
from newsletter_site.operations.concurrency_limit import MAX_CONCURRENT_REQUESTS

wsgi_app = "newsletter_site.wsgi"

# Threads, because a request mostly waits for PostgreSQL. Each has its own connection. Two threads
# are reserved for probes, so these are answered while the database hangs.
worker_class = "newsletter_site.web_worker.BufferingWorker"
workers = int(os.environ.get("WEB_CONCURRENCY", "").strip() or "2")
threads = MAX_CONCURRENT_REQUESTS + 2


def every_address(port: str) -> list[str]:
    """Return what to bind for IPv4 and IPv6, also on a machine without IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::", 0))
            # net.ipv6.bindv6only decides. A second socket for IPv4 is refused without it.
            is_dual = not probe.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
    except OSError:
        return [f"0.0.0.0:{port}"]
    return [f"[::]:{port}"] if is_dual else [f"0.0.0.0:{port}", f"[::]:{port}"]


# Without PORT, gunicorn listens on 127.0.0.1:8000. The option --bind and systemd's socket win.
if port := os.environ.get("PORT", "").strip():
    bind = every_address(port)

timeout = 60
graceful_timeout = 30
keepalive = 5

# The heartbeat touches a file. On a busy disk that is slow, and the process would seem dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108

# The site logs each request itself (docs/logs.md), because addresses of pages contain tokens.
name_this_process("web")
logconfig_dict = settings.LOGGING
accesslog = None
# An API call has parameters of 255 and 300 characters. An address has up to 12 bytes for each.
limit_request_line = 8190
limit_request_fields = 100
limit_request_field_size = 8190
control_socket_disable = True
# Only the site reads a proxy's headers, if TRUST_PROXY is on. gunicorn would trust local clients.
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""


def on_starting(server: Any) -> None:
    """Refuse to serve strangers in debug, or an empty database, if nobody chose that."""
    if not settings.DEBUG and not settings.DATABASE_IS_NAMED:
        sys.exit("homing: DATABASE_URL is not set; a site for readers needs one.")
    reachable = [address for address in server.cfg.address if not is_loopback(address)]
    if settings.DEBUG and not settings.DEBUG_IS_NAMED and reachable:
        found = (
            ":".join(map(str, reachable[0])) if isinstance(reachable[0], tuple) else reachable[0]
        )
        sys.exit(
            f"homing: DEBUG is not set, and others may reach {found}. Set DEBUG=off and the "
            "variables of docs/deploy.md, or DEBUG=on to show errors to everybody there."
        )


def is_loopback(address: Any) -> bool:
    """Return whether only this machine reaches it, unlike a socket for a proxy."""
    try:
        return isinstance(address, tuple) and ip_address(address[0]).is_loopback
    except ValueError:
        return bool(address[0] == "localhost")


def post_worker_init(worker: Any) -> None:
    """Log the release and what the checks find, once: in the first process."""
    if worker.age == 1:
        # Imported late: Django must be set up.
        from newsletter_site.checks import log_start

        log_start()


def worker_exit(server: Any, worker: Any) -> None:
    """Save the counts of a stopped process."""
    # Imported late: Django must be set up.
    from newsletter_site.operations.metrics.flush_metrics import flush_at_exit

    flush_at_exit()

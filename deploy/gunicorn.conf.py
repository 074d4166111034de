"""
Settings of the web server, in a container, under systemd and on a platform.

    gunicorn --config deploy/gunicorn.conf.py newsletter_site.wsgi

It reads the variables `WEB_CONCURRENCY` (processes) and `PORT`. Restart it for a new version or new
settings. A HUP is not enough: the new processes would keep the modules that are already loaded.
"""

import os
from typing import Any

from newsletter_site.logs.process_name import name_this_process
from newsletter_site.operations.concurrency_limit import MAX_CONCURRENT_REQUESTS
from newsletter_site.settings import LOGGING

wsgi_app = "newsletter_site.wsgi"

# Threads, because a request mostly waits for PostgreSQL. Each has its own connection. Two threads
# are reserved for probes, so these are answered while the database hangs.
worker_class = "newsletter_site.web_worker.BufferingWorker"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = MAX_CONCURRENT_REQUESTS + 2

timeout = 60
graceful_timeout = 30
keepalive = 5

# The heartbeat touches a file. On a busy disk that is slow, and the process would seem dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108

# The site logs each request itself (docs/logs.md), because addresses of pages contain tokens.
name_this_process("web")
logconfig_dict = LOGGING
accesslog = None
# An API call has parameters of 255 and 300 characters. An address has up to 12 bytes for each.
limit_request_line = 8190
limit_request_fields = 100
limit_request_field_size = 8190
control_socket_disable = True
# Only the site reads a proxy's headers, if TRUST_PROXY is on. gunicorn would trust local clients.
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""


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

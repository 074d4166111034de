"""
The web server's settings, the same in a container, under systemd and on a platform.

    gunicorn --config deploy/gunicorn.conf.py newsletter_site.wsgi

gunicorn itself reads two variables: `WEB_CONCURRENCY`, how many processes (2 if it is not set),
and `PORT`, on which it listens on every address; `--bind` says something else.

Restart it for a new version or new settings, and send it no HUP: the process that would start the
new ones has read this file and modules of ours, and they would work with those as they were.
"""

import os
from typing import Any

from newsletter_site.logs.process_name import name_this_process
from newsletter_site.operations.concurrency_limit import MAX_CONCURRENT_REQUESTS
from newsletter_site.settings import LOGGING

wsgi_app = "newsletter_site.wsgi"

# Threads, because a request mostly waits for PostgreSQL. Each keeps a connection of its own:
# processes × threads of them for the site. Two more than there are pages at once: a database that
# hangs holds every page that asks it, and probes are answered all the same. A request gets a thread
# when it has arrived: slow clients hold none.
worker_class = "newsletter_site.web_worker.BufferingWorker"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = MAX_CONCURRENT_REQUESTS + 2

# A form waits for its twin for IDEMPOTENCY_WAIT_S (10 s) at most, and publishing to a million
# readers takes a few seconds.
timeout = 60
# Who is being answered when the server is told to stop gets the answer.
graceful_timeout = 30
keepalive = 5

# The heartbeat of a process is a file that is touched; on a disk that is busy it would seem dead.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108

# Its own lines look like all others (docs/logs.md). Addresses of pages hold tokens, which no log
# may hold: the site writes a line for each request.
name_this_process("web")
logconfig_dict = LOGGING
accesslog = None
# What a header or a line may hold at most; the longest address of ours is a few hundred bytes.
limit_request_line = 4094
limit_request_fields = 100
limit_request_field_size = 8190
control_socket_disable = True
# What a proxy says of a request is read by the site alone, and only under TRUST_PROXY. gunicorn
# would believe whoever asks from this machine.
secure_scheme_headers: dict[str, str] = {}
forwarder_headers = ""


def worker_exit(server: Any, worker: Any) -> None:
    """A process that is stopped in order adds what it has counted, when its last page is over."""
    # Not before Django is set up, which is each process's own affair.
    from newsletter_site.operations.metrics.flush_metrics import flush_at_exit

    flush_at_exit()

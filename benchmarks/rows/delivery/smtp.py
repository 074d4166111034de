"""Rate and CPU time of one worker that sends over SMTP.

One real `deliver --until-empty` with its defaults sends to a sink on this machine, which throws all
mail away: `smtp-sink` of Debian's package postfix. The CPU time is that of the sender and of
PostgreSQL; the sink's time is not counted.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.frame import Options, RowResult, at_least, in_turns
from benchmarks.sending import Sendings, sent_over_smtp
from benchmarks.site.site import a_site

ROW = "delivery over SMTP to a sink on this machine, 2 kB bodies"
WORKER = "worker over SMTP"
UP_WITHIN_S = 20.0


class NoSinkError(Exception):
    """There is no program `smtp-sink`."""


@contextmanager
def a_sink() -> Iterator[int]:
    """Run a sink; yield its port. Raises `NoSinkError`."""
    program = shutil.which("smtp-sink", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        raise NoSinkError("There is no smtp-sink. Install Debian's package postfix.")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    sink = subprocess.Popen([program, *user, f"127.0.0.1:{port}", "1000"])
    try:
        until_s = time.monotonic() + UP_WITHIN_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), UP_WITHIN_S).close()
                break
            except ConnectionRefusedError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(0.05)
        yield port
    finally:
        sink.terminate()
        sink.wait()


def measure(options: Options) -> RowResult:
    """Measure the worker's rate and a copy's CPU time."""
    readers = options.size(20_000, 1_000)
    sendings = Sendings()
    with a_sink() as port, a_site() as site:
        site.readers(readers)
        (rate,) = in_turns(
            options,
            {WORKER: sendings.rate_of(WORKER, lambda: sent_over_smtp(site, readers, port))},
            "copies/s",
        )
    return RowResult(
        ROW,
        (at_least("at least 1,500/s", rate, 1_500),),
        (rate, *sendings.cpu(WORKER, options.rounds)),
        (f"{readers:,} readers; batches of 20, one connection for each call.",),
    )

"""A fork server that starts workers within hundredths of a second.

`python -m tests.faults.processes.worker_fork_server OPTION...` reads its standard input: each line
starts one `deliver` with those options. The server prints `began PID` and `ended PID STATUS`. A
worker starts with blocked stop signals, so a signal is not lost if it arrives before the worker can
handle it. Another test covers early signals in an ordinary process.
"""

import contextlib
import os
import select
import signal
import sys

import django
from django.core import checks
from django.core.management import execute_from_command_line
from django.db import connections

STOPPING = (signal.SIGTERM, signal.SIGINT)
LOOK_EVERY_S = 0.01


def begin(options: list[str]) -> None:
    """Fork one worker."""
    pid = os.fork()
    if pid:
        print("began", pid, flush=True)
        return
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    status = 0
    try:
        execute_from_command_line(["manage.py", "deliver", *options])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 -- any exception ends the worker with status 1
        status = 1
    os._exit(status)


def report_the_ended() -> None:
    """Report the workers that have ended since the last report."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            print("ended", ended[0], os.waitstatus_to_exitcode(ended[1]), flush=True)


def main(options: list[str]) -> None:
    """Serve until the input ends."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    # Use the site's settings by default, as manage.py does. A test can name other settings.
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "newsletter_site.settings")
    django.setup()
    from delivery.management.commands import deliver  # noqa: F401 -- loaded once, for all

    # Run the system checks once here, because every command runs them and they load all pages.
    # So the pages are already loaded in every forked worker.
    checks.run_checks()
    connections.close_all()

    while True:
        readable, _, _ = select.select([0], [], [], LOOK_EVERY_S)
        report_the_ended()
        if readable:
            wishes = os.read(0, 1000)
            if not wishes:
                return
            for _ in range(wishes.count(b"\n")):
                begin(options)


if __name__ == "__main__":
    main(sys.argv[1:])

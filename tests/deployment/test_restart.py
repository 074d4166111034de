"""The site stops gracefully, and restarts behind its socket as under systemd."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import requests

from delivery.models import MetricValue
from newsletter_site.operations.metrics.site_metrics import REQUESTS
from newsletter_site.operations.release import running_release
from tests.deployment.served_site import FROM_THE_PROXY, PATIENCE_S, ROOT, serve, served_site

# Pass the socket on as systemd does: as file descriptor 3, with variables that say so.
AS_SYSTEMD_STARTS_IT = """
import os, sys
listener = int(sys.argv[1])
os.dup2(listener, 3, inheritable=True)
os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def begin(listener: socket.socket, database_url: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            *(sys.executable, "-c", AS_SYSTEMD_STARTS_IT, str(listener.fileno())),
            *("manage.py", "serve", "--processes", "1"),
        ],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url, "TRUST_PROXY": "on"},
        pass_fds=[listener.fileno()],
    )


def test_site_names_its_release_and_its_warnings_once(database_url: str) -> None:
    site = subprocess.Popen(
        serve("127.0.0.1:0", processes=2),
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url, "DELIVERY_RATE": "5"},
        stderr=subprocess.PIPE,
        text=True,
    )
    log = ""
    with site:
        for line in site.stderr or ():
            log += line
            if "DELIVERY_RATE is set and has no effect" in line:
                site.terminate()
    assert site.returncode == 0
    assert log.count(f"The site runs Homing {running_release()}.") == 1
    assert log.count("DELIVERY_RATE is set and has no effect") == 1


# When a site ends, it writes its counters to the database.
@pytest.mark.django_db(transaction=True)
def test_restart_refuses_no_visitor(database_url: str) -> None:
    answered, is_over = threading.Semaphore(0), threading.Event()
    wrong: list[str] = []

    def call(url: str) -> None:
        """Send requests repeatedly, each over a new connection."""
        while not is_over.is_set():
            try:
                answer = requests.get(url, headers=FROM_THE_PROXY, timeout=PATIENCE_S)
                if answer.status_code != 200:
                    wrong.append(str(answer.status_code))
            except requests.RequestException as error:
                wrong.append(type(error).__name__)
            answered.release()

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        site = begin(listener, database_url)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/archive/"
        caller = threading.Thread(target=call, args=[url])
        caller.start()
        try:
            for is_last in (False, False, True):
                while answered.acquire(blocking=False):
                    pass
                for _ in range(3):
                    assert answered.acquire(timeout=PATIENCE_S)
                if not is_last:
                    site.send_signal(signal.SIGTERM)
                    assert site.wait(PATIENCE_S) == 0
                    site = begin(listener, database_url)
        finally:
            is_over.set()
            caller.join(PATIENCE_S)
            site.terminate()
            site.wait(PATIENCE_S)
    assert wrong == []


@pytest.mark.django_db(transaction=True)
def test_killed_process_is_replaced(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        site = begin(listener, database_url)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/archive/"
        try:
            assert requests.get(url, headers=FROM_THE_PROXY, timeout=PATIENCE_S).ok
            children = Path(f"/proc/{site.pid}/task/{site.pid}/children").read_text()
            os.kill(int(children), signal.SIGKILL)
            # This request waits in the socket until the new process accepts it.
            assert requests.get(url, headers=FROM_THE_PROXY, timeout=PATIENCE_S).ok
        finally:
            site.terminate()
            assert site.wait(PATIENCE_S) == 0


@pytest.mark.django_db(transaction=True)
def test_latest_counters_are_saved_at_the_end(database_url: str) -> None:
    with served_site(database_url) as site:
        assert site.get("/archive/").status_code == 200
    counted = {
        json.loads(row.labels)["route"]: row.value
        for row in MetricValue.objects.filter(name=REQUESTS)
    }
    assert counted["/archive/"] == 1

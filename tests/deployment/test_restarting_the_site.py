"""The site restarted behind its door, as systemd does it: nobody is turned away."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import requests

from tests.deployment.served_site import FROM_THE_PROXY, PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
# What systemd does: the socket is the fourth file, and the process is told that it is meant for it.
AS_SYSTEMD_STARTS_IT = """
import os, sys
listener = int(sys.argv[1])
os.dup2(listener, 3, inheritable=True)
os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
os.execv(sys.executable, [sys.executable, "-m", "gunicorn", *sys.argv[2:]])
"""


def begin(listener: socket.socket, database_url: str) -> subprocess.Popen[bytes]:
    """The site on a door that was there before it."""
    return subprocess.Popen(
        [
            *(sys.executable, "-c", AS_SYSTEMD_STARTS_IT, str(listener.fileno())),
            *("--config", "deploy/gunicorn.conf.py", "--workers", "1", "newsletter_site.wsgi"),
        ],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database_url, "TRUST_PROXY": "on"},
        pass_fds=[listener.fileno()],
    )


class Caller:
    """Asks for a page again and again, a new line each time, and keeps what went wrong."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stopped = threading.Event()
        self._answered = threading.Condition()
        self.answers = 0
        self.wrong: list[str] = []
        self._thread = threading.Thread(target=self._call)
        self._thread.start()

    def _call(self) -> None:
        while not self._stopped.is_set():
            try:
                answer = requests.get(self._url, headers=FROM_THE_PROXY, timeout=PATIENCE_S)
                if answer.status_code != 200:
                    self.wrong.append(str(answer.status_code))
            except requests.RequestException as error:
                self.wrong.append(type(error).__name__)
            with self._answered:
                self.answers += 1
                self._answered.notify_all()

    def wait_for_more(self, answers: int) -> None:
        """Until so many more answers came."""
        with self._answered:
            wanted = self.answers + answers
            assert self._answered.wait_for(lambda: self.answers >= wanted, PATIENCE_S)

    def stop(self) -> None:
        """Ask no more."""
        self._stopped.set()
        self._thread.join(PATIENCE_S)


@pytest.mark.django_db
def test_a_restart_turns_nobody_away(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/archive/"
        site = begin(listener, database_url)
        caller = Caller(url)
        try:
            for _ in range(3):
                caller.wait_for_more(3)
                site.send_signal(signal.SIGTERM)
                assert site.wait(PATIENCE_S) == 0
                site = begin(listener, database_url)
            caller.wait_for_more(3)
        finally:
            caller.stop()
            site.terminate()
            site.wait(PATIENCE_S)
    assert caller.wrong == []

"""Posts are safe when the web process that holds a claim is killed or frozen."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.freeze_process import freeze
from tests.idempotency.concurrent_posts import PATIENCE_S
from tests.idempotency.one_form_site import titles, wait_at_the_gate

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

ROOT = Path(__file__).parents[2]


class WebProcess:
    """A process that posts the form and then holds its claim."""

    def __init__(self, window, database_url, hold):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.idempotency.web_process", hold],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": database_url},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        session = window.client.cookies["sessionid"].value
        print(json.dumps({"session": session}), file=self.process.stdin, flush=True)

    def says(self) -> str:
        return self.process.stdout.readline().strip()

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def web_process(window, database_url) -> Iterator[Callable[[str], WebProcess]]:
    """Start web processes that post the author's form; end them with the test."""
    started = []

    def start(hold: str) -> WebProcess:
        started.append(WebProcess(window, database_url, hold))
        return started[-1]

    yield start
    for process in started:
        process.end()


def test_a_process_killed_in_a_statement_frees_the_key(
    window, posts, onlooker, web_process, settings
):
    # The gate stays closed, so the statement ends only after the second post was answered.
    settings.IDEMPOTENCY_WAIT_S = PATIENCE_S
    with onlooker.closed_gate():
        first = web_process("at the gate")
        onlooker.until(onlooker.at_a_gate, 1)
        second = posts.start(window.another().post)
        onlooker.until(onlooker.waiting_for_the_first, 1)

        first.send(signal.SIGKILL)

        assert second.result(timeout=PATIENCE_S / 2).status_code == 303
    assert titles() == ["Hello"]


def test_a_process_killed_while_waiting_frees_its_slot(
    window, posts, onlooker, web_process, during_work, settings
):
    settings.IDEMPOTENCY_WAIT_S = PATIENCE_S
    during_work(wait_at_the_gate)
    with onlooker.closed_gate():
        posts.start(window.another().post)
        onlooker.until(onlooker.at_a_gate, 1)
        for _ in range(2):
            posts.start(window.another().post)
        killed = web_process("at the gate")
        onlooker.until(onlooker.waiting_for_the_first, 3)
        assert window.another().post().status_code == 409

        killed.send(signal.SIGKILL)
        onlooker.until(onlooker.waiting_for_the_first, 2)

        again = posts.start(window.another().post)
        onlooker.until(onlooker.waiting_for_the_first, 3)
    assert again.result(timeout=PATIENCE_S).status_code == 303
    assert titles() == ["Hello"]


def test_a_frozen_process_is_disconnected_and_rolled_back(
    window, posts, onlooker, web_process, settings
):
    settings.IDEMPOTENCY_WAIT_S = PATIENCE_S
    first = web_process("idle")
    assert first.says() == "claimed"
    freeze(first.process.pid)
    second = posts.start(window.another().post)
    assert second.result(timeout=PATIENCE_S / 2).status_code == 303
    assert titles() == ["Hello"]

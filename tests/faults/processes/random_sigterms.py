"""Send SIGTERM to workers at random moments, one after another, under load.

A seed decides the moments. What a worker does when a signal arrives depends on the machine.
"""

import os
import random
import signal
import threading
from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from postmark_sandbox.server import SandboxServer
from tests.faults.processes.forked_workers import Crew
from tests.faults.processes.watched_worker import TIMES

AT_ONCE = 6
# The share of the signals that go to the newest worker.
YOUNGEST = 0.2
MOST_COPIES = 100
LONGEST_MOMENT_S = 0.05
LONGEST_WAIT_S = 2.0
# These times are so long that no other worker recovers lost work, so the test sees all lost work.
SETTINGS = TIMES | {"DELIVERY_HTTP_DEADLINE_S": "60", "DELIVERY_LEASE_S": "60"}


def workers_to_stop(database_url: str, provider: SandboxServer) -> closing[Crew]:
    """Start workers that log nothing."""
    silence = Path(os.devnull)
    return closing(Crew(database_url, provider.url, silence, "--concurrency", "2", **SETTINGS))


def stop_at_random(
    crew: Crew,
    provider: SandboxServer,
    signals: int,
    keep_loaded: Callable[[], object],
    *,
    seed: int,
) -> list[int]:
    """Stop `count` workers, with `AT_ONCE` running; return their exit statuses.

    Most signals hit the oldest worker, after a random number of copies and a random pause. Other
    signals hit the newest worker, which is still starting. `keep_loaded` is called between any two
    signals, so that there is always work.
    """
    dice = random.Random(seed)
    sandbox, moment = provider.sandbox, threading.Event()
    running: deque[int] = deque()
    stopped: list[int] = []
    for number in range(signals):
        keep_loaded()
        while len(running) < min(AT_ONCE, signals - number):
            running += crew.begin()
        if dice.random() < YOUNGEST:
            pid = running.pop()
        else:
            pid = running.popleft()
            goal = sandbox.outbox.counts()["accepted"] + dice.randrange(MOST_COPIES)
            # Wait only a short time for more copies, because all workers may be stopping.
            sandbox.gate.wait_until(
                lambda goal=goal: sandbox.outbox.counts()["accepted"] >= goal, LONGEST_WAIT_S
            )
        moment.wait(dice.uniform(0, LONGEST_MOMENT_S))
        crew.send_signal(pid, dice.choice((signal.SIGTERM, signal.SIGTERM, signal.SIGINT)))
        stopped.append(pid)
    return crew.statuses(stopped)

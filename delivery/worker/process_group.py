"""A parent process that keeps worker processes running and stops them together.

The parent forks the worker processes after all imports, so that they share its memory. The parent
has no thread and no database connection. Children read a pipe that only the parent can write. The
pipe ends when the parent stops the children, and also when the parent is killed.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from django.db import Error, connections

from delivery.monitoring.database_fault import cause_of
from delivery.provider.deadline_clock import now_s
from delivery.rules import after_call_or_lookup
from delivery.worker.worker_process import STOPPING_SIGNALS

logger = logging.getLogger(__name__)

# The exit code of a child that found the queue drained. Every other code means a failure, except 0
# after a signal.
DRAINED = 100
_AWAITED = (*STOPPING_SIGNALS, signal.SIGCHLD, signal.SIGALRM)
# The pause before a restart: half a second at first, and at most a minute after repeated failures.
RESTART = after_call_or_lookup.Policy(0.5, 60.0, 1, (0.0,), True)
# If a child ran longer than this, it started well, so its end is not a repeated failure.
STARTED_WELL_S = 60.0


@dataclass(slots=True)
class _Child:
    number: int
    pid: int | None = None
    start_at_s: float = 0.0  # When the child started or will start next, by `now_s()`.
    failures: int = 0


class Stoppable(Protocol):
    """What a child process runs: a worker, or a web server."""

    def stop(self) -> None:
        """Stop the worker or server gracefully. Another thread calls this method."""


Runner = TypeVar("Runner", bound=Stoppable)


class ProcessGroup(Generic[Runner]):
    """A group of `size` child processes.

    In each process, `make` makes a worker and `work` runs it. `make` gets the child's number, from
    0. `work` returns whether the queue is drained. If the queue is drained, the group stops. `name`
    is what log lines call a child, such as “worker”.
    """

    def __init__(
        self,
        name: str,
        size: int,
        make: Callable[[int], Runner],
        work: Callable[[Runner], bool],
    ) -> None:
        self._name = name
        self._children = [_Child(number) for number in range(size)]
        self._make = make
        self._work = work
        self._is_stopping = False
        self._all_ended_well = True
        self._reading, self._writing = os.pipe()

    def run(self) -> bool:
        """Run until stopped or drained. Return whether every child ended gracefully.

        The first SIGTERM or Ctrl-C stops the children gracefully. The second signal kills the
        children and ends this process.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
        connections.close_all()  # Two processes must not share a connection.
        gc.collect()
        gc.freeze()  # The garbage collector must not write to memory that children share.
        while True:
            self._start_due()
            number = self._await_signal()
            if number in STOPPING_SIGNALS:
                if self._is_stopping:
                    self._kill(128 + number)
                self._stop()
            self._reap()
            if self._is_stopping and not any(child.pid for child in self._children):
                return self._all_ended_well

    def _start_due(self) -> None:
        for child in self._children:
            if child.pid is None and not self._is_stopping and child.start_at_s <= now_s():
                child.start_at_s = now_s()
                child.pid = os.fork() or self._run_child(child.number)

    def _await_signal(self) -> int:
        """Wait for a signal, or until the next child starts."""
        waiting = [child.start_at_s for child in self._children if child.pid is None]
        if waiting and not self._is_stopping:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, min(waiting) - now_s()))
        return signal.sigwait(_AWAITED)

    def _stop(self) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            os.close(self._writing)

    def _kill(self, exit_code: int) -> None:
        for child in self._children:
            if child.pid:
                os.kill(child.pid, signal.SIGKILL)
        # Other workers recover the batches of the killed children.
        os._exit(exit_code)

    def _reap(self) -> None:
        # Process 1 of a container also gets the exits of other orphans, so wait for each child by
        # its id.
        for child in self._children:
            if child.pid and (ended := os.waitpid(child.pid, os.WNOHANG))[0]:
                self._record_end(child, os.waitstatus_to_exitcode(ended[1]))
                child.pid = None

    def _record_end(self, child: _Child, code: int) -> None:
        if code == DRAINED:
            self._stop()
        elif not self._is_stopping:
            ran_s = now_s() - child.start_at_s
            child.failures = 1 if ran_s > STARTED_WELL_S else child.failures + 1
            pause_s = after_call_or_lookup.delay_after(child.failures - 1, 1.0, RESTART)
            child.start_at_s = now_s() + pause_s
            logger.error(
                "%s process %d ended unexpectedly (%s); another starts in %.1f s",
                self._name,
                child.pid,
                _describe(code),
                pause_s,
            )
        elif code != 0:
            self._all_ended_well = False
            logger.error(
                "%s process %d did not end gracefully (%s)", self._name, child.pid, _describe(code)
            )

    def _run_child(self, number: int) -> int:
        """Run one worker and end the process. This never returns into the parent's code."""
        code = 1
        try:
            os.close(self._writing)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGCHLD, signal.SIGALRM))
            worker = self._make(number)
            # Ctrl-C reaches all processes of a terminal. Only the parent reacts to Ctrl-C.
            for awaited in (
                lambda: os.read(self._reading, 1),
                lambda: signal.sigwait({signal.SIGTERM}),
            ):
                _stop_after(awaited, worker)
            code = DRAINED if self._work(worker) else 0
            connections.close_all()
        except Error as error:
            logger.exception("the %s process failed: %s", self._name, cause_of(error))
        except BaseException:
            logger.exception("the %s process failed", self._name)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def _stop_after(awaited: Callable[[], object], worker: Stoppable) -> None:
    def wait() -> None:
        awaited()
        worker.stop()

    threading.Thread(target=wait, daemon=True).start()


def _describe(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"

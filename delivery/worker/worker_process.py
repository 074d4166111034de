"""A worker: threads that repeat one step, and one thread for periodic duties.

Any number of workers share one database, without a leader.
"""

import itertools
import logging
import os
import random
import signal
import socket
import threading
import uuid
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db import DatabaseError, connection

from delivery import log_context
from delivery.monitoring import metrics_storage, worker_heartbeat
from delivery.monitoring.database_fault import DatabaseFault
from delivery.provider.deadline_clock import now_s
from delivery.provider.from_settings import policy_from_settings, provider_from_settings
from delivery.queue.claim_due_batch import is_call_due, release_all
from delivery.queue.lease_reaper import recover_dead_worker, recover_expired_leases
from delivery.reconcile import database_identity
from delivery.rules import after_call_or_lookup
from delivery.rules.reason import Reason, ReasonCode
from delivery.tasks import register_background_task
from delivery.tasks.register_background_task import BackgroundTask
from delivery.worker.call_slots import CallSlots, threads_for
from delivery.worker.retry_write import retry_write
from delivery.worker.shared_poll import SharedPoll
from delivery.worker.step import CALL, Dispatcher
from delivery.worker.unsent_calls import UnsentCall, UnsentCalls, find_dead_workers

logger = logging.getLogger(__name__)

MAX_POLL_S = 1.0
POLL_WHEN_AWAITED_S = 0.2
BEAT_EVERY_S = 5.0
MAX_PAUSE_S = 60.0
# Kinds of work that the worker reports to `DatabaseFault`. READING is work that wrote nothing.
SHORT_TASKS = "short tasks"
READING = "reading"
STOPPING_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Heartbeat(NamedTuple):
    """The identity of one running `deliver` in the table of workers."""

    id: uuid.UUID
    pid: int


class Worker:
    """One process of a running `deliver`, with at most `concurrency` calls in flight.

    `id` is the owner of the batches that this worker claims. The worker polls more often if it
    `is_awaited`. The one process with `runs_tasks` also sends the heartbeat, reaps leases and runs
    background tasks. `problems_at_start` were found before the worker started. Health checks and
    pages show these problems while the worker runs.
    """

    def __init__(
        self,
        concurrency: int | None = None,
        *,
        is_awaited: bool = False,
        heartbeat: Heartbeat | None = None,
        runs_tasks: bool = True,
    ) -> None:
        concurrency = concurrency or settings.DELIVERY_CONCURRENCY
        self._heartbeat = heartbeat or Heartbeat(uuid.uuid4(), os.getpid())
        # If this process is one of several, it gets a separate id.
        self.id = self._heartbeat.id if self._heartbeat.pid == os.getpid() else uuid.uuid4()
        self.runs_tasks = runs_tasks
        self.problems_at_start: list[Reason] = []
        self._threads = threads_for(concurrency)
        self._slots = CallSlots(concurrency)
        self._policy = policy_from_settings()
        self._poll_s = POLL_WHEN_AWAITED_S if is_awaited else MAX_POLL_S
        self._stopping = threading.Event()
        self._random = random.Random()
        self._calls, self._tasks = (
            SharedPoll(
                look,
                is_stopping=self._stopping.is_set,
                pause=lambda: self._stopping.wait(self._pause_s(0)),
            )
            for look in (_look_for_calls, register_background_task.find_due)
        )
        self._lookup_lock = threading.Lock()
        self._problem_of_identity: Reason | None = None
        self._unsent: UnsentCalls | None = None
        self._fault = DatabaseFault(now_s)

    def stop(self) -> None:
        """Stop claiming, release batches that have not started, finish calls in flight."""
        self._stopping.set()
        self._calls.wake()
        self._tasks.wake()

    def stop_on_signals(self) -> None:
        """Stop gracefully on the first SIGTERM or Ctrl-C, and at once on the second.

        A thread awaits the signals, because a handler could wait for a lock that the main thread
        holds. Call this before any other thread starts, because threads inherit which signals are
        blocked.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING_SIGNALS)
        threading.Thread(target=self._await_signals, name="signals", daemon=True).start()

    def _await_signals(self) -> None:
        signal.sigwait(STOPPING_SIGNALS)
        self.stop()
        number = signal.sigwait(STOPPING_SIGNALS)
        # This is not sys.exit, which would wait for calls in flight. Other workers recover the
        # batches of these calls.
        os._exit(128 + number)

    def run(self, *, until: Callable[[], bool] = lambda: False) -> bool:
        """Work until `until()` or a stop, then settle every call in flight.

        Return whether `until()` ended the work.
        """
        log_context.bind(worker=self.id)
        try:
            # If the database was restored, this check stops the open editions. The check must come
            # before the first claim of a batch.
            self._check_identity()
            if self.runs_tasks:
                self._beat()
        except DatabaseError:
            if self._stopping.is_set():
                return False  # nothing is claimed yet
            raise
        tasks = register_background_task.background_tasks() if self.runs_tasks else []
        self._unsent = unsent = UnsentCalls(self.id)
        works: list[tuple[str, Callable[[], None]]] = [
            *(
                (f"call-{number}", partial(self._send, unsent.entry(number)))
                for number in range(self._threads)
            ),
            *((task.name, self._thread_of(task)) for task in tasks),
        ]
        threads = [
            threading.Thread(target=log_context.inherited(work), name=name, daemon=True)
            for name, work in works
        ]
        for thread in threads:
            thread.start()
        try:
            is_over = self._run_duties(until)
            if self._stopping.is_set() and self.runs_tasks:
                logger.info("The worker stops. Calls in flight finish, and no call starts.")
            return is_over
        finally:
            self.stop()
            for thread in threads:
                thread.join()
            self._run_duty(self._release_all)
            unsent.close()
            if self.runs_tasks:
                self._run_duty(lambda: worker_heartbeat.remove_worker(self._heartbeat.id))
            self._run_duty(metrics_storage.flush)

    def _release_all(self) -> None:
        """Release the claims and look-ups that a broken connection left behind.

        Without this release, these claims and look-ups would wait until their leases expire, and
        would count as crashes.
        """
        retry_write(
            lambda: release_all(self.id),
            what="the release of claimed batches",
            work="release",
            fault=self._fault,
            until_s=now_s() + settings.DELIVERY_LEASE_S,
            is_stopping=lambda: True,
            jitter=self._random.random,
        )

    def _run_duties(self, until: Callable[[], bool]) -> bool:
        """Run the duties one after another until stopped or `until()`.

        Return whether `until()` ended the duties. A failed duty does not block the others.
        """
        duties: list[Callable[[], object]] = [self._check_identity]
        if self.runs_tasks:
            duties += [
                self._beat,
                recover_dead_workers,
                recover_expired_leases,
                lambda: self._run_short_tasks(next(rounds)),
            ]
        rounds = itertools.count()
        failures = 0
        since_duties_s = BEAT_EVERY_S
        while not self._stopping.is_set():
            succeeded = True
            if since_duties_s >= min(BEAT_EVERY_S, settings.DELIVERY_LEASE_S):
                since_duties_s = 0.0
                for duty in duties:
                    # While the database is unavailable, each duty may take as long as an attempt to
                    # connect.
                    if self._stopping.is_set():
                        return False
                    succeeded &= self._run_duty(duty)[0]
                # Failing metrics must not slow the duties down.
                self._run_duty(metrics_storage.flush)
            checked, is_over = self._run_duty(until)
            if is_over:
                return True
            failures = 0 if succeeded and checked else failures + 1
            pause_s = self._pause_s(failures)
            since_duties_s += pause_s
            self._stopping.wait(pause_s)
        return False

    def _beat(self) -> None:
        id_, pid = self._heartbeat
        worker_heartbeat.beat(
            id_, host=socket.gethostname()[:255], pid=pid, problems=self._problems()
        )
        # Touch the file only after the database has the heartbeat: a worker whose heartbeat fails
        # must look unhealthy.
        if settings.HEARTBEAT_FILE:
            _touch(Path(settings.HEARTBEAT_FILE))

    def _problems(self) -> list[Reason]:
        """Collect the current problems, for the heartbeat."""
        unsent = self._unsent.problem if self._unsent else None
        current = (unsent, self._problem_of_identity, self._fault.problem())
        return [*self.problems_at_start, *(one for one in current if one is not None)]

    def _run_short_tasks(self, round_: int) -> None:
        began_s, failed = now_s(), []

        def report(message: str, error: Exception) -> None:
            failed.append(message)
            self._log_failure(SHORT_TASKS, began_s, message, error)

        register_background_task.run_all(report, round_=round_, is_stopping=self._stopping.is_set)
        if not failed:
            self._fault.succeeded(SHORT_TASKS)

    def _check_identity(self) -> None:
        """Notice a restored database, and warn once if a restore could go unnoticed."""
        noticed = database_identity.check_identity()
        problem = None
        if noticed.unavailable_fields:
            fields = " and its ".join(noticed.unavailable_fields)
            problem = Reason.of(ReasonCode.DATABASE_IDENTITY_HIDDEN, fields=fields)
        if problem not in (None, self._problem_of_identity):
            logger.warning("a restored backup could go unnoticed: %s", problem)
        self._problem_of_identity = problem

    def _run_duty(self, duty: Callable[[], object]) -> tuple[bool, object]:
        """Run a duty; return whether it succeeded, and its result."""
        began_s = now_s()
        work = getattr(duty, "__name__", "duty")
        with log_context.scope():
            try:
                result = duty()
                self._fault.succeeded(work)
                return True, result
            except Exception as error:  # noqa: BLE001 -- logged, and tried again
                self._log_failure(work, began_s, "a duty of the worker failed", error)
                return False, None

    def _send(self, unsent: UnsentCall) -> None:
        with closing(provider_from_settings()) as provider:
            dispatcher = Dispatcher(
                self.id,
                provider,
                policy=self._policy,
                jitter=self._random.random,
                lookup_lock=self._lookup_lock,
                slots=self._slots,
                unsent=unsent,
                fault=self._fault,
                claims_ahead=True,
            )
            self._repeat(
                CALL,
                dispatcher.step,
                "a step failed; its batch returns when the lease expires",
                partial(self._calls.wait, CALL),
            )
            self._run_duty(dispatcher.close)
            connection.close()

    def _thread_of(self, task: BackgroundTask) -> Callable[[], None]:
        wait: Callable[[], object] = partial(self._tasks.wait, task.name)
        if task.every_s is not None:
            wait = partial(self._stopping.wait, task.every_s)
        failure = register_background_task.failure_message(task.name)
        return lambda: self._repeat(task.name, task.work, failure, wait)

    def _repeat(
        self,
        name: str,
        work: Callable[[Callable[[], bool]], bool],
        failure: str,
        wait: Callable[[], object],
    ) -> None:
        """Repeat `work` until stopped.

        If nothing is due, `wait` is called. After a failure, the thread pauses.
        """
        failures = 0
        try:
            while not self._stopping.is_set():
                began_s = now_s()
                with log_context.scope():
                    try:
                        did_something = work(self._stopping.is_set)
                        failures = 0
                        # A step that settled a call has reported its success already. Any other
                        # step only read.
                        self._fault.succeeded(READING if name == CALL else name)
                        if not did_something:
                            wait()
                        continue
                    except Exception as error:  # noqa: BLE001 -- logged, and tried again
                        failures += 1
                        self._log_failure(name, began_s, failure, error)
                self._stopping.wait(self._pause_s(failures))
        finally:
            connection.close()

    def _log_failure(self, work: str, began_s: float, message: str, error: Exception) -> None:
        """Log a failure of work that began at `began_s`.

        The level is DEBUG if a fault of the database explains the failure, else ERROR.
        """
        explained = self._fault.explains(error, work, began_s)
        level = logging.DEBUG if explained else logging.ERROR
        logger.log(level, message, exc_info=error)
        # A failed connection must not be reused. The next statement opens a new connection.
        try:
            connection.close()
        except Exception:
            logger.exception("closing a broken database connection failed")

    def _pause_s(self, failures: int) -> float:
        """Compute the seconds to wait: a poll with jitter, or a backoff after failures."""
        if failures == 0:
            return self._poll_s * self._random.uniform(0.5, 1.0)
        policy = after_call_or_lookup.Policy(self._poll_s, MAX_PAUSE_S, 1, (0.0,), True)
        return max(
            self._poll_s / 2,
            after_call_or_lookup.delay_after(failures, self._random.random(), policy),
        )


def _touch(path: Path) -> None:
    """Touch a file: a container's health check reads its age without Django."""
    try:
        path.touch()
    except OSError as error:
        logger.warning(
            "HOMING_HEARTBEAT_FILE %s cannot be written (%s), so a health check of it fails",
            path,
            error.strerror,
        )


def _look_for_calls() -> set[str]:
    return {CALL} if is_call_due() else set()


def recover_dead_workers() -> None:
    """Recover the batches of workers on this machine whose processes have ended."""
    for dead in find_dead_workers():
        if recover_dead_worker(dead.id, dead.unsent):
            dead.forget()


def raise_niceness(niceness: int) -> None:
    """Raise this thread's nice(1) value to `niceness`, 0 to 19, unless it is higher."""
    now = os.getpriority(os.PRIO_PROCESS, 0)
    if niceness > now:
        os.setpriority(os.PRIO_PROCESS, 0, niceness)

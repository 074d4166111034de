"""
The worker: several threads that repeat one step, and one that watches over them.

Any number of workers share one database; none is a leader. What a worker holds it holds under a
lease, so that losing it at any instruction loses nothing else.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import socket
import threading
import uuid
from collections.abc import Callable

from django.conf import settings
from django.db import connection

from delivery import log_context
from delivery.configuration import Timing, policy_from_settings, postmark_from_settings
from delivery.monitoring import metrics_table, worker_heartbeat
from delivery.queue.lease_reaper import sweep
from delivery.reconcile import database_identity
from delivery.rules import retries
from delivery.tasks import background_tasks
from delivery.worker.call_slots import CallSlots, threads_for
from delivery.worker.database_outage_log import Outage
from delivery.worker.step import Dispatcher

logger = logging.getLogger(__name__)

POLL_AT_MOST_S = 1.0
POLL_WHEN_AWAITED_S = 0.2
SWEEP_EVERY_S = 5.0
LONGEST_PAUSE_S = 60.0
STOPPING_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Worker:
    """
    One running `deliver`. `concurrency` calls are in the air at most; more threads than that work
    on batches (call_slots.py).

    `warning` is what was found wrong before it runs, for authors to be shown.
    """

    def __init__(self, *, concurrency: int, poll_s: float = POLL_AT_MOST_S) -> None:
        self.id = uuid.uuid4()
        self.warning = ""
        self._host = socket.gethostname()[:255]
        self._threads = threads_for(concurrency)
        self._slots = CallSlots(concurrency)
        self._timing = Timing.from_settings()
        self._policy = policy_from_settings()
        self._poll_s = poll_s
        self._stopping = threading.Event()
        self._random = random.Random()
        self._lookup_lock = threading.Lock()
        self._said_untold = False
        self._outage = Outage()

    # --- Stopping ------------------------------------------------------------------------------

    def stop(self) -> None:
        """Claim nothing more, give back what has not started, let calls in the air finish."""
        self._stopping.set()

    def stop_on_signals(self) -> None:
        """
        The first SIGTERM or Ctrl-C stops gracefully, the second at once.

        The signals are blocked and awaited by a thread. A handler would run in the middle of the
        main thread's own waiting, and could wait for a lock that this very thread holds. To be
        called before any other thread is there, since threads inherit what is blocked.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING_SIGNALS)
        threading.Thread(target=self._await_signals, name="signals", daemon=True).start()

    def _await_signals(self) -> None:
        signal.sigwait(STOPPING_SIGNALS)
        self.stop()
        number = signal.sigwait(STOPPING_SIGNALS)
        # Not sys.exit: threads with calls in the air would be waited for. Their batches come back
        # by their leases and are looked up.
        os._exit(128 + number)

    # --- Working -------------------------------------------------------------------------------

    def run(self, *, until: Callable[[], bool] = lambda: False) -> None:
        """
        Work until stopped, or until `until()` says that nothing more will happen by itself.

        Returns when every call in the air has been settled.
        """
        log_context.bind(worker=self.id)
        # Before the first claim. It would be refused anyway; this is what stops the editions.
        self._recognise()
        worker_heartbeat.register_worker(
            self.id, host=self._host, pid=os.getpid(), warning=self.warning
        )
        threads = [
            threading.Thread(
                target=log_context.inherited(self._work), name=f"call-{number}", daemon=True
            )
            for number in range(self._threads)
        ]
        threads += [
            threading.Thread(
                target=log_context.inherited(self._toil), args=[chore], name=chore.name, daemon=True
            )
            for chore in background_tasks.background_tasks()
        ]
        for thread in threads:
            thread.start()
        try:
            self._watch(until)
            if self._stopping.is_set():
                logger.info("The worker was told to stop. Calls in flight finish, none begins.")
        finally:
            self.stop()
            for thread in threads:
                thread.join()
            self._guarded(lambda: worker_heartbeat.remove_worker(self.id))
            self._guarded(metrics_table.flush)

    def _watch(self, until: Callable[[], bool]) -> None:
        """Sweep, report, do the chores, until stopped. None of them keeps another from its turn."""
        failures = 0
        since_sweep = SWEEP_EVERY_S
        while not self._stopping.is_set():
            went_well = True
            if since_sweep >= min(SWEEP_EVERY_S, self._timing.lease_s):
                since_sweep = 0.0
                for duty in (self._recognise, self._report, self._sweep, self._chores):
                    went_well &= self._guarded(duty)[0]
                self._add_counts()
            in_order, is_over = self._guarded(until)
            if is_over:
                return
            failures = 0 if went_well and in_order else failures + 1
            pause = self._pause(failures)
            since_sweep += pause
            self._stopping.wait(pause)

    def _recognise(self) -> None:
        """Notice a restored database, and say once what cannot be told about this one."""
        noticed = database_identity.check_identity()
        if noticed.untold and not self._said_untold:
            self._said_untold = True
            logger.warning(
                "PostgreSQL does not tell its %s to this role, so some restored backups cannot be "
                "noticed; after restoring one, run ./homing reconcile --restored",
                " and its ".join(noticed.untold),
            )

    def _report(self) -> None:
        worker_heartbeat.beat(self.id, host=self._host, pid=os.getpid(), warning=self.warning)

    def _add_counts(self) -> None:
        """No duty: counting that fails must not slow the others down."""
        self._guarded(metrics_table.flush)

    def _sweep(self) -> None:
        sweep(first_lookup_after_s=self._policy.lookup_after_s[0])

    def _chores(self) -> None:
        background_tasks.run_all(self._failed)

    def _guarded(self, duty: Callable[[], object]) -> tuple[bool, object]:
        """Do a duty of the watch; say whether it went well, and what it returned."""
        with log_context.scope():
            try:
                came = duty()
                self._outage.look_whether_over()
                return True, came
            except Exception as fault:  # noqa: BLE001 -- told, and tried again
                self._failed("a duty of the watch failed", fault)
                return False, None

    def _failed(self, what: str, fault: Exception) -> None:
        """Say what failed, and quietly if it was said already that the database is away."""
        level = logging.DEBUG if self._outage.is_why(fault) else logging.ERROR
        logger.log(level, what, exc_info=fault)
        _forget_connection()

    def _work(self) -> None:
        """Repeat one step; sleep only when nothing is due."""
        postmark = postmark_from_settings()
        dispatcher = Dispatcher(
            self.id,
            postmark,
            timing=self._timing,
            policy=self._policy,
            jitter=self._random.random,
            lookup_lock=self._lookup_lock,
            slots=self._slots,
        )
        failures = 0
        try:
            while not self._stopping.is_set():
                with log_context.scope():
                    try:
                        did_something = dispatcher.step(self._stopping.is_set)
                        failures = 0
                        self._outage.look_whether_over()
                        if did_something:
                            continue
                    except Exception as fault:  # noqa: BLE001 -- told, and tried again
                        failures += 1
                        self._failed("a step failed; what it held comes back by its lease", fault)
                self._stopping.wait(self._pause(failures))
        finally:
            postmark.close()
            connection.close()

    def _toil(self, chore: background_tasks.BackgroundTask) -> None:
        """Repeat a long chore, until stopped; sleep only when nothing of it is due."""
        failures = 0
        try:
            while not self._stopping.is_set():
                with log_context.scope():
                    try:
                        did_something = chore.work(self._stopping.is_set)
                        failures = 0
                        if did_something:
                            continue
                    except Exception as fault:  # noqa: BLE001 -- told, and tried again
                        failures += 1
                        self._failed(background_tasks.failure_message(chore.name), fault)
                self._stopping.wait(self._pause(failures))
        finally:
            connection.close()

    def _pause(self, failures: int) -> float:
        """Seconds to wait: a poll with jitter, or longer and longer after failures in a row."""
        if failures == 0:
            return self._poll_s * self._random.uniform(0.5, 1.0)
        policy = retries.Policy(self._poll_s, LONGEST_PAUSE_S, 1, (0.0,), True)
        return max(self._poll_s / 2, retries.delay_after(failures, self._random.random(), policy))


def _forget_connection() -> None:
    """A connection that failed must not be used again; the next statement opens a new one."""
    try:
        connection.close()
    except Exception:
        logger.exception("closing a broken database connection failed")


def worker_from_settings(concurrency: int | None = None, *, is_awaited: bool = False) -> Worker:
    """A worker as the operator configured it; one whose end somebody awaits looks more often."""
    return Worker(
        concurrency=concurrency or settings.DELIVERY_CONCURRENCY,
        poll_s=POLL_WHEN_AWAITED_S if is_awaited else POLL_AT_MOST_S,
    )

"""`manage.py deliver`: the worker."""

import json
import logging
import os
import random
import sys
import uuid
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils.translation import gettext as _

from delivery import log_context
from delivery.check_settings import log_findings
from delivery.monitoring.database_fault import DatabaseFault
from delivery.provider.deadline_clock import now_s
from delivery.provider.from_settings import provider_from_settings
from delivery.worker import drain
from delivery.worker.process_group import ProcessGroup
from delivery.worker.retry_write import retry_write
from delivery.worker.worker_process import Heartbeat, Worker, raise_niceness

logger = logging.getLogger(__name__)

NEEDS_DECISION = 3
TOTALS_WITHIN_S = 10.0


def _parse_up_to_64(option: str, value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or not 1 <= int(value) <= 64:
        raise CommandError(
            _("{option} is “{value}”. Give a whole number from 1 to 64.").format(
                option=option, value=value
            )
        )
    return int(value)


class Command(BaseCommand):
    """Run one worker, and print the counts of a drained queue."""

    help = _(
        "Run a worker that sends published issues. On SIGTERM or Ctrl-C it claims no more batches, "
        "finishes its calls and ends. A second signal ends it at once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--until-empty",
            action="store_true",
            help=_(
                "end when nothing is left that a worker can do, and print the counts as JSON; "
                "exit with 0 if everything is settled, with 3 if something waits for a decision"
            ),
        )
        parser.add_argument(
            "--concurrency",
            default=str(settings.DELIVERY_CONCURRENCY),
            help=_(
                "the most calls in flight at once in each process, 1 to 64 "
                "(default: DELIVERY_CONCURRENCY, now %(default)s)"
            ),
        )
        parser.add_argument(
            "--processes",
            default=str(settings.DELIVERY_PROCESSES),
            help=_(
                "how many processes send, 1 to 64 (default: DELIVERY_PROCESSES, now %(default)s)"
            ),
        )

    def check(self, *args: Any, **options: Any) -> None:
        """Like every command, stop if a system check finds errors.

        Also log the warnings of the checks.
        """
        super().check(*args, **options)
        log_findings()

    def handle(self, *args: Any, **options: Any) -> None:
        concurrency = _parse_up_to_64("--concurrency", options["concurrency"])
        processes = _parse_up_to_64("--processes", options["processes"])
        is_awaited = options["until_empty"]
        # Django styles all of stderr as errors, but most of these lines are progress.
        self.stderr.style_func = str
        raise_niceness(settings.DELIVERY_NICENESS)  # before threads start, because they inherit it
        heartbeat = Heartbeat(uuid.uuid4(), os.getpid())
        log_context.bind(worker=heartbeat.id)

        def make(number: int) -> Worker:
            return Worker(
                concurrency, is_awaited=is_awaited, heartbeat=heartbeat, runs_tasks=number == 0
            )

        # If the database cannot be reached, the command ends here, before any process starts. Up to
        # here, a signal ends the command at once (manage.py).
        connection.ensure_connection()
        if processes == 1:
            only = make(0)
            # Set this up before the first call to the provider, so that a signal always stops the
            # worker cleanly.
            only.stop_on_signals()
        # Create this before the fork, so that a restarted process follows the same editions.
        drained = drain.Drain(self.stderr, is_terminal=self.stderr.isatty()) if is_awaited else None

        def work(worker: Worker) -> bool:
            if not worker.runs_tasks:
                return worker.run()
            _check_stream(worker)
            return worker.run(until=drained.is_drained) if drained else worker.run()

        if not drained:
            logger.info(
                "Worker %s of Homing %s is running (processes: %d, calls at once in each: at most "
                "%d). Ctrl-C ends it.",
                heartbeat.id.hex[:8],
                str(settings.RELEASE),
                processes,
                concurrency,
            )
        if processes == 1:
            work(only)
            ended_well = True
        else:
            ended_well = ProcessGroup("worker", processes, make, work).run()
        if drained:
            self._print_totals(drained)
        elif ended_well:
            logger.info("The worker has ended. All its calls are finished.")
        if not ended_well:
            sys.exit(1)

    def _print_totals(self, drained: drain.Drain) -> None:
        """Print the last line. Exit with 3 if something waits for a decision."""
        # A connection that breaks now must not make the drain look unfinished.
        totals, awaits_decision = retry_write(
            drained.totals,
            what="the last line",
            work="last line",
            fault=DatabaseFault(now_s),
            until_s=now_s() + TOTALS_WITHIN_S,
            is_stopping=lambda: False,
            jitter=random.random,
        )
        self.stdout.write(json.dumps(totals))
        self.stdout.flush()
        if awaits_decision:
            sys.exit(NEEDS_DECISION)


def _check_stream(worker: Worker) -> None:
    problem = provider_from_settings().find_unsubscribe_problem()
    if problem is not None:
        worker.problems_at_start.append(problem)
        logger.warning("UNSUBSCRIBE_HANDLING does not match the stream: %s", problem)

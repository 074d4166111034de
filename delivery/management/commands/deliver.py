"""`manage.py deliver`: the worker."""

from __future__ import annotations

import json
import logging
import random
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.management.base import BaseCommand, CommandError

from delivery import log_context
from delivery.configuration import postmark_from_settings
from delivery.postmark.client import now_s
from delivery.postmark.stream_check import check_unsubscribe_handling
from delivery.worker import drain
from delivery.worker.process import worker_from_settings
from delivery.worker.process_priority import stand_back
from delivery.worker.retry_write import retry_write

logger = logging.getLogger(__name__)

NEEDS_A_PERSON = 3
LAST_LINE_WITHIN_S = 10.0


def _calls(value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or not 1 <= int(value) <= 64:
        raise CommandError(f"--concurrency is {value!r}; expected a whole number from 1 to 64.")
    return int(value)


class Command(BaseCommand):
    """Reads options, runs one worker, prints what became of it."""

    help = (
        "Send what is published. Runs until SIGTERM or Ctrl-C: then it claims nothing more, "
        "finishes the calls in the air and ends; a second signal ends it at once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--until-empty",
            action="store_true",
            help="end once nothing more will happen by itself; print the counts as one JSON line; "
            "exit 0 if all is settled, 3 if something waits for a person",
        )
        parser.add_argument(
            "--concurrency",
            default=str(settings.DELIVERY_CONCURRENCY),
            help="calls in the air at most (default: DELIVERY_CONCURRENCY, now %(default)s)",
        )

    def check(self, *args: Any, **options: Any) -> None:
        """What is wrong ends it, as with every command; what is doubtful is a line of the log."""
        found = [each for each in checks.run_checks() if not each.is_silenced()]
        if any(each.is_serious() for each in found):
            super().check(*args, **options)
        for each in found:
            logger.warning("%s", " ".join(filter(None, (each.msg, each.hint))))

    def handle(self, *args: Any, **options: Any) -> None:
        concurrency = _calls(options["concurrency"])
        # Django shows all of stderr as errors; most of this is news.
        self.stderr.style_func = str
        stand_back(settings.DELIVERY_NICENESS)  # before a thread begins: it passes on to them
        worker = worker_from_settings(concurrency, is_awaited=options["until_empty"])
        # Before the provider is asked for anything: from here on a signal ends it in good order.
        worker.stop_on_signals()
        worker.warning = check_unsubscribe_handling(postmark_from_settings())
        log_context.bind(worker=worker.id)
        if worker.warning:
            logger.warning(worker.warning)
        if not options["until_empty"]:
            # Lines of the log and not of a command: whoever reads it wants to know since when.
            logger.info(
                "Worker %s is running, %d calls at most. Ctrl-C ends it.",
                worker.id.hex[:8],
                concurrency,
            )
            worker.run()
            logger.info("The worker has ended; nothing is left half-way.")
            return
        watch = drain.Drain(self.stderr, is_terminal=self.stderr.isatty())
        worker.run(until=watch.is_drained)
        # All is done; that the line is cut just now must not make it look otherwise.
        totals = retry_write(
            watch.totals,
            what="the last line",
            until_s=now_s() + LAST_LINE_WITHIN_S,
            is_stopping=lambda: False,
            jitter=random.random,
        )
        self.stdout.write(json.dumps(totals.by_outcome()))
        self.stdout.flush()
        if totals.awaits_decision:
            sys.exit(NEEDS_A_PERSON)

"""`manage.py deliver`: the worker."""

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
from delivery.checks import check_unsubscribe_handling
from delivery.configuration import postmark_from_settings
from delivery.postmark.client import now_s
from delivery.worker import drain
from delivery.worker.process import Worker, raise_niceness
from delivery.worker.retry_write import retry_write

logger = logging.getLogger(__name__)

NEEDS_DECISION = 3
TOTALS_WITHIN_S = 10.0


def _calls(value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or not 1 <= int(value) <= 64:
        raise CommandError(f"--concurrency is {value!r}; expected a whole number from 1 to 64.")
    return int(value)


class Command(BaseCommand):
    """Runs one worker, and prints the counts of a drained queue."""

    help = (
        "Send what is published. Runs until SIGTERM or Ctrl-C: then it claims nothing more, "
        "finishes the calls in flight and ends; a second signal ends it at once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--until-empty",
            action="store_true",
            help="end once nothing more will happen automatically; print the counts as JSON; exit "
            "0 if all is settled, 3 if something waits for a decision",
        )
        parser.add_argument(
            "--concurrency",
            default=str(settings.DELIVERY_CONCURRENCY),
            help="calls in flight at most (default: DELIVERY_CONCURRENCY, now %(default)s)",
        )

    def check(self, *args: Any, **options: Any) -> None:
        """Stop at errors, as every command does; log warnings."""
        found = [each for each in checks.run_checks() if not each.is_silenced()]
        if any(each.is_serious() for each in found):
            super().check(*args, **options)
        for each in found:
            logger.warning("%s", " ".join(filter(None, (each.msg, each.hint))))

    def handle(self, *args: Any, **options: Any) -> None:
        concurrency = _calls(options["concurrency"])
        # Django styles all of stderr as errors; most of this is none.
        self.stderr.style_func = str
        raise_niceness(settings.DELIVERY_NICENESS)  # before threads start: they inherit it
        worker = Worker(concurrency, is_awaited=options["until_empty"])
        # Before the first call to the provider: from here on a signal stops it cleanly.
        worker.stop_on_signals()
        worker.warning = check_unsubscribe_handling(postmark_from_settings())
        log_context.bind(worker=worker.id)
        if worker.warning:
            logger.warning(worker.warning)
        if not options["until_empty"]:
            logger.info(
                "Worker %s is running, %d calls at most. Ctrl-C ends it.",
                worker.id.hex[:8],
                concurrency,
            )
            worker.run()
            logger.info("The worker has ended; no call is left unfinished.")
            return
        drained = drain.Drain(self.stderr, is_terminal=self.stderr.isatty())
        worker.run(until=drained.is_drained)
        # A connection that breaks now must not make it look unfinished.
        totals, awaits_decision = retry_write(
            drained.totals,
            what="the last line",
            until_s=now_s() + TOTALS_WITHIN_S,
            is_stopping=lambda: False,
            jitter=random.random,
        )
        self.stdout.write(json.dumps(totals))
        self.stdout.flush()
        if awaits_decision:
            sys.exit(NEEDS_DECISION)

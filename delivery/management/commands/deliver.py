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
from django.utils.translation import gettext as _

from delivery import log_context
from delivery.checks import check_unsubscribe_handling
from delivery.configuration import postmark_from_settings
from delivery.postmark.client import now_s
from delivery.rules.reason import dumps
from delivery.worker import drain
from delivery.worker.process import Worker, raise_niceness
from delivery.worker.retry_write import retry_write

logger = logging.getLogger(__name__)

NEEDS_DECISION = 3
TOTALS_WITHIN_S = 10.0


def _calls(value: str) -> int:
    if not (value.isascii() and value.isdecimal()) or not 1 <= int(value) <= 64:
        raise CommandError(
            _("--concurrency is “{value}”. Give a whole number from 1 to 64.").format(value=value)
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
                "the most calls in flight at once (default: DELIVERY_CONCURRENCY, now %(default)s)"
            ),
        )

    def check(self, *args: Any, **options: Any) -> None:
        """Stop at errors, like every command, and log warnings."""
        found = [each for each in checks.run_checks() if not each.is_silenced()]
        if any(each.is_serious() for each in found):
            super().check(*args, **options)
        for each in found:
            logger.warning("%s", " ".join(filter(None, (each.msg, each.hint))))

    def handle(self, *args: Any, **options: Any) -> None:
        concurrency = _calls(options["concurrency"])
        # Django styles all of stderr as errors, but most of these lines are progress.
        self.stderr.style_func = str
        raise_niceness(settings.DELIVERY_NICENESS)  # before threads start: they inherit it
        worker = Worker(concurrency, is_awaited=options["until_empty"])
        # Before the first call to the provider, so that a signal stops it cleanly.
        worker.stop_on_signals()
        problem = check_unsubscribe_handling(postmark_from_settings())
        worker.warning = dumps(problem)
        log_context.bind(worker=worker.id)
        if problem is not None:
            logger.warning("UNSUBSCRIBE_HANDLING does not match the stream: %s", problem)
        if not options["until_empty"]:
            logger.info(
                "Worker %s is running, with at most %d calls at once. Ctrl-C ends it.",
                worker.id.hex[:8],
                concurrency,
            )
            worker.run()
            logger.info("The worker has ended. All its calls are finished.")
            return
        drained = drain.Drain(self.stderr, is_terminal=self.stderr.isatty())
        worker.run(until=drained.is_drained)
        # A connection that breaks now must not make the drain look unfinished.
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

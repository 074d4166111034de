"""Record changes of how an account signs in, in the activity log."""

import logging
from typing import Any

from django.db import transaction

from delivery import log_context
from subscribers.record_activity import record_activity

logger = logging.getLogger(__name__)


def record_operator(code: str, account: Any) -> None:
    """Record it under the account, because nobody is signed in, and in the program's log."""
    record_activity(code, account.pk, account, from_command_line=True)

    def log() -> None:
        with log_context.scope():
            log_context.bind(author=account.pk)
            logger.info("%s from the command line", code)

    transaction.on_commit(log)

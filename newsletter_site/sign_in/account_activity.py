"""What the commands for an author's account share: finding it, and recording the change."""

import logging
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.db import transaction

from delivery import log_context
from subscribers.record_activity import record_activity

logger = logging.getLogger(__name__)


def find_author(username: str) -> Any:
    """Return the author with this user name. Raises `CommandError`."""
    author = get_user_model().objects.filter(username=username).first()
    if author is None:
        raise CommandError(f"There is no author with the user name {username!r}.")
    return author


def record_operator(code: str, account: Any) -> None:
    """Record it under the account, because nobody is signed in, and in the program's log."""
    record_activity(code, account.pk, account, from_command_line=True)

    def log() -> None:
        with log_context.scope():
            log_context.bind(author=account.pk)
            logger.info("%s from the command line", code)

    transaction.on_commit(log)

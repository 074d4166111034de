"""Record changes of how an account signs in, in the activity log."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.db import transaction

from delivery import log_context

logger = logging.getLogger(__name__)


def record(actor: Any, account: Any, sentence: str) -> None:
    """Record what `actor` did to `account`. The sentence comes without a full stop."""
    LogEntry.objects.log_actions(
        actor.pk,
        get_user_model().objects.filter(pk=account.pk),
        CHANGE,
        change_message=f"{sentence}.",
        single_object=True,
    )


def record_operator(account: Any, sentence: str) -> None:
    """
    Record what an operator did with a command, and log it after the commit.

    The entry belongs to the account itself, because nobody is signed in.
    """
    sentence = f"{sentence}, from the command line"
    record(account, account, sentence)
    transaction.on_commit(lambda: _log(account, sentence))


def _log(account: Any, sentence: str) -> None:
    with log_context.scope():
        log_context.bind(author=account.pk)
        logger.info("%s", sentence)

"""What happened to an account's way in, in the log that the desk and the admin show."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.db import transaction

from delivery import log_context

logger = logging.getLogger(__name__)


def record(who: Any, account: Any, sentence: str) -> None:
    """`who` did this to the way in of `account`, a sentence without its full stop."""
    LogEntry.objects.log_actions(
        who.pk,
        get_user_model().objects.filter(pk=account.pk),
        CHANGE,
        change_message=f"{sentence}.",
        single_object=True,
    )


def record_from_the_command_line(account: Any, sentence: str) -> None:
    """
    The same, done by an operator with the shell. Nobody is signed in there: it stands under the
    account itself, so the sentence has to say who did it. In the program's log too, once committed.
    """
    sentence = f"{sentence}, from the command line"
    record(account, account, sentence)
    transaction.on_commit(lambda: _log(account, sentence))


def _log(account: Any, sentence: str) -> None:
    with log_context.scope():
        log_context.bind(author=account.pk)
        logger.info("%s", sentence)

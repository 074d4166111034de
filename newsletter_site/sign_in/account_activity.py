"""Find accounts and record changes, for commands that change accounts."""

import logging
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError
from django.db import transaction
from django.utils.translation import gettext as _

from delivery import log_context
from subscribers.record_activity import record_activity

logger = logging.getLogger(__name__)


def find_author(username: str) -> Any:
    """Return the author with this user name. Raises `CommandError`."""
    # Bytes that are not UTF-8 arrive as unpaired surrogates, which PostgreSQL cannot read.
    username = username.encode(errors="replace").decode()
    author = get_user_model().objects.filter(username=username).first()
    if author is None:
        raise CommandError(
            _("No author has the user name “{username}”. Check the spelling.").format(
                username=username
            )
        )
    return author


def record_operator(code: str, account: Any) -> None:
    """Record a change by the operator under the account, and log it.

    Nobody is signed in here.
    """
    record_activity(code, account.pk, account, from_command_line=True)

    def log() -> None:
        with log_context.scope():
            log_context.bind(author=account.pk)
            logger.info("%s from the command line", code)

    transaction.on_commit(log)

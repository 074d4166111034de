"""Find an account for an operator's command, and record what the operator changed."""

import logging

from django.core.management.base import CommandError
from django.db import transaction
from django.utils.translation import gettext as _

from delivery import log_context
from newsletter_site.models import User
from subscribers.record_activity import record_activity

logger = logging.getLogger(__name__)


def find_author(username: str) -> User:
    """Return the author with this user name, or raise `CommandError`."""
    author = User.objects.filter(username=username).first()
    if author is None:
        raise CommandError(
            _("No author has the user name “{username}”. Check the spelling.").format(
                username=username
            )
        )
    return author


def record_operator(code: str, account: User) -> None:
    """Record a change by the operator, and log it.

    Nobody is signed in here, so the entry names the changed account as the user who made the
    change.
    """
    record_activity(code, account.pk, account, from_command_line=True)

    def log() -> None:
        with log_context.scope():
            log_context.bind(author=account.pk)
            logger.info("%s from the command line", code)

    transaction.on_commit(log)

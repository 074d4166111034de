"""
Counts every sign-in that is tried: what django-axes asks before a password is looked at.

Joins what a try is counted under with the counts. Writes no name down that was typed, because it
may be a password, and logs an author only where there is one of that name.
"""

from __future__ import annotations

import logging
import math
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from django.contrib.auth import get_user_model
from django.http import HttpRequest

from delivery import log_context
from newsletter_site.operations.metrics import site_metrics as operating_counts
from newsletter_site.operations.metrics.site_metrics import SignIn
from newsletter_site.sign_in import attempts
from newsletter_site.sign_in.attempts import Refused, Taken
from newsletter_site.sign_in.known_browser import browser_known_for
from newsletter_site.sign_in.throttle_keys import address_of, of_a_browser, of_a_network
from subscribers.client_network import network_of

logger = logging.getLogger(__name__)


def take_a_try(request: HttpRequest, name: str) -> tuple[Taken, ...] | Refused:
    """
    Count a try to sign in as `name`; or when the next one may be made.

    The request keeps it as `sign_in_tried`, for whatever answers it.
    """
    tried = _take_a_try(request, name)
    request.sign_in_tried = tried  # type: ignore[attr-defined]  # a request has no field for more
    if isinstance(tried, Refused):
        operating_counts.sign_in(SignIn.REFUSED)
    return tried


def _take_a_try(request: HttpRequest, name: str) -> tuple[Taken, ...] | Refused:
    waits: list[float] = []
    if browser := browser_known_for(name, request):
        tried = attempts.take_a_try(of_a_browser(name, browser))
        if not isinstance(tried, Refused):
            return tried
        # Somebody else may have a copy of the mark: the author goes on like everybody else.
        waits.append(tried.wait_s)
    tried = attempts.take_a_try(of_a_network(name, network_of(request)))
    if isinstance(tried, Refused):
        return Refused(min([*waits, tried.wait_s]))
    return tried


def network_address(request: HttpRequest) -> str:
    """AXES_CLIENT_IP_CALLABLE: the network's first address, never the visitor's own."""
    return address_of(network_of(request))


def say_that_it_failed(request: HttpRequest, name: str, what: str) -> None:
    """
    Tell the log of a try that failed, or was refused, and was counted before it was looked at.

    The name was typed: it is looked up and not repeated.
    """
    tried = getattr(request, "sign_in_tried", ())
    if isinstance(tried, Refused):
        logger.info("a sign-in was refused unread: it has to wait %d s", math.ceil(tried.wait_s))
        return
    operating_counts.sign_in(SignIn.WRONG)
    author = get_user_model().objects.filter(username=name).values_list("pk", flat=True).first()
    wait_s = math.ceil(max((one.wait_s for one in tried), default=0))
    waits = f", and the next one has to wait {wait_s} s" if wait_s else ""
    with log_context.scope():
        log_context.bind(author=author)
        logger.warning("%s%s%s", what, "" if author else " of nobody's", waits)


class CountedSignIns(AxesDatabaseHandler):
    """AXES_HANDLER. Keeps no log of its own in the database; the site's log and trail have it."""

    def is_allowed(self, request: Any, credentials: dict[str, Any] | None = None) -> bool:
        """Whether this try may be made. It counts as failed from here on until it succeeds."""
        tried = take_a_try(request, str((credentials or {}).get("username") or ""))
        return not isinstance(tried, Refused)

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: Any = None, **kwargs: Any
    ) -> None:
        """Say so in the log. It was counted before it was tried."""
        if request is None:
            return
        name = str(credentials.get("username") or "")
        say_that_it_failed(request, name, "a sign-in failed")

    def user_logged_in(self, sender: Any, request: Any, user: Any, **kwargs: Any) -> None:
        """Forget the failures of whoever signed in."""
        tried = getattr(request, "sign_in_tried", ())
        if not isinstance(tried, Refused):
            attempts.forget_after_success(tried)
        operating_counts.sign_in(SignIn.RIGHT)
        _say_of(user, "somebody signed in")

    def user_logged_out(self, sender: Any, request: Any, user: Any, **kwargs: Any) -> None:
        """Say so in the log."""
        if user is not None:
            _say_of(user, "somebody signed out")


def _say_of(author: Any, sentence: str) -> None:
    with log_context.scope():
        log_context.bind(author=author.pk)
        logger.info(sentence)

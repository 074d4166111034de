"""Throttle sign-ins with django-axes, for known and unknown names in the same way."""

import logging
import math
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.crypto import salted_hmac

from delivery import log_context
from delivery.humanise import duration
from delivery.monitoring.metrics_storage import metrics_buffer
from newsletter_site.operations.metrics.site_metrics import SIGN_INS, SignInResult
from newsletter_site.sign_in import known_browser
from subscribers.client_network import network_of

logger = logging.getLogger(__name__)


def throttle_key(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """Hash the typed name for AXES_USERNAME_CALLABLE.

    A known browser gets a different hash, so its failures are counted separately.
    """
    name = str((credentials or {}).get("username") or "")
    return _hash(known_browser.read_browser_number(request, name), name)


def network_address(request: HttpRequest) -> str:
    """Return the first address of the client's network, for AXES_CLIENT_IP_CALLABLE."""
    return network_of(request).partition("/")[0] or "::"


def may_try(request: HttpRequest, name: str) -> bool:
    """Return whether a password or code may be checked.

    If it returns False, AxesMiddleware answers 429.
    """
    if AxesProxyHandler.is_allowed(request, {"username": name}):
        return True
    request.axes_locked_out = True  # type: ignore[attr-defined]  # set by django-axes
    count_failure(request, name)
    return False


def count_failure(request: HttpRequest, name: str) -> None:
    """Count a wrong password or code. While the name is blocked, only log the attempt."""
    user_login_failed.send(__name__, credentials={"username": name}, request=request)


def reset_failures(name: str) -> None:
    """Reset the failures of `name` in every network, except those of known browsers."""
    reset(username=_hash("", name))


def too_many_failures(
    request: HttpRequest, response: HttpResponse | None = None, credentials: Any = None
) -> HttpResponse:
    """Answer 429 for AXES_LOCKOUT_CALLABLE, with the same page for every name."""
    wait_s = math.ceil(settings.AXES_COOLOFF_TIME.total_seconds())
    context = {"wait": duration(wait_s), "again": request.get_full_path()}
    page = render(request, "sign_in/wait.html", context, status=429)
    page.headers["Retry-After"] = str(wait_s)
    page.headers["Cache-Control"] = "no-store"
    return page


def _hash(browser: str, name: str) -> str:
    value = f"{browser} {name}"
    return salted_hmac("homing.sign-in.throttle", value, algorithm="sha256").hexdigest()


@receiver(pre_save, sender=AccessAttempt)
def _drop_request_data(instance: AccessAttempt, **_: Any) -> None:
    """Remove the form's data, because an author may type a password into any field."""
    instance.get_data = instance.post_data = instance.http_accept = instance.path_info = ""


@receiver(user_login_failed)
def _log_failure(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    if getattr(request, "axes_locked_out", False):
        metrics_buffer.add(SIGN_INS, result=SignInResult.THROTTLED)
        logger.info("a sign-in was refused unchecked after too many failures")
        return
    metrics_buffer.add(SIGN_INS, result=SignInResult.FAILED)
    author = get_user_model().objects.filter(username=credentials.get("username")).first()
    # The typed name is not logged: it may be a password.
    _log(
        author,
        logging.WARNING,
        "a sign-in failed" if author else "a sign-in with an unknown name failed",
    )


@receiver(user_logged_in)
def _log_sign_in(user: Any, **_: Any) -> None:
    metrics_buffer.add(SIGN_INS, result=SignInResult.SUCCEEDED)
    _log(user, logging.INFO, "a user signed in")


@receiver(user_logged_out)
def _log_sign_out(user: Any, **_: Any) -> None:
    if user is not None:
        _log(user, logging.INFO, "a user signed out")


def _log(author: Any, level: int, event: str) -> None:
    with log_context.scope():
        log_context.bind(author=author and author.pk)
        logger.log(level, event)

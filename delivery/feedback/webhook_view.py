"""
The address that the provider's webhooks are sent to. It only translates HTTP.

Postmark gives an event up for good at any answer of 400 and above but 408, 429 and 5xx. So only
what was kept is answered 200, and only what must never be kept is refused for good: a wrong
password, and a body larger than any event.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging

from django.conf import settings
from django.db import Error as AnyDatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from delivery.feedback import event_inbox

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
LONGEST_TRACE = 100
# Digits of a length that are read: Python refuses to read thousands of them.
MOST_DIGITS = 18


@method_decorator(csrf_exempt, name="dispatch")
class PostmarkWebhook(View):
    """
    One event a POST. Exempt from CSRF, because Postmark has no session: the password lets it in.

    200 whenever the event is kept, understood or not. 503 while it cannot be, so that Postmark
    tries again: without a database, and while no credentials are set.
    """

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Keep the event, then apply it."""
        if not (settings.POSTMARK_WEBHOOK_USER and settings.POSTMARK_WEBHOOK_PASSWORD):
            logger.error(
                "a webhook was refused: set POSTMARK_WEBHOOK_USER and POSTMARK_WEBHOOK_PASSWORD"
            )
            return _answer(503, "Webhooks are not set up here.")
        if not _may_come_in(request.headers.get("Authorization", "")):
            logger.error(
                "a webhook was refused, and what it told is lost: its user and password are not "
                "POSTMARK_WEBHOOK_USER and POSTMARK_WEBHOOK_PASSWORD"
            )
            answer = _answer(401, "The user and password of this webhook are wrong.")
            answer["WWW-Authenticate"] = 'Basic realm="webhooks"'
            return answer
        length = _length(request)
        if length is None:
            return _answer(503, "The event came without its length.")
        if length > MAX_BODY_BYTES:
            logger.error("a webhook of more than %d bytes was refused", MAX_BODY_BYTES)
            return _answer(413, f"An event may have {MAX_BODY_BYTES} bytes.")
        try:
            body = request.read(length)
        except UnreadablePostError:
            return _answer(408, "The event broke off.")
        return _keep_and_apply(body, _trace(request))


def _keep_and_apply(body: bytes, trace: str | None) -> HttpResponse:
    try:
        event = event_inbox.store(body, trace)
    except AnyDatabaseError as error:
        logger.error("a webhook could not be kept (%s); Postmark tries again", type(error).__name__)
        return _answer(503, "The event could not be kept.")
    if event is not None:
        try:
            event_inbox.apply(event)
        except AnyDatabaseError as error:
            # It is kept: a worker applies it.
            logger.warning(
                "event %d is applied later: the database said %s", event, type(error).__name__
            )
    return _answer(200, "Kept.")


def _may_come_in(header: str) -> bool:
    """Whether Basic credentials are the right ones, in a time that says nothing about them."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return False
    wanted = f"{settings.POSTMARK_WEBHOOK_USER}:{settings.POSTMARK_WEBHOOK_PASSWORD}".encode()
    # Hashed, because the comparison is constant only for texts of the same length.
    return hmac.compare_digest(hashlib.sha256(given).digest(), hashlib.sha256(wanted).digest())


def _trace(request: HttpRequest) -> str | None:
    """What Postmark's tries of one event share; None where it is missing or cannot be kept."""
    trace = request.headers.get("X-PM-Webhook-Trace-Id", "").strip()
    fits = 0 < len(trace) <= LONGEST_TRACE and trace.isascii() and trace.isprintable()
    return trace if fits else None


def _length(request: HttpRequest) -> int | None:
    """The body's length in bytes; None if it is not told, so that none can be taken for empty."""
    told = request.META.get("CONTENT_LENGTH") or ""
    if not told and "HTTP_TRANSFER_ENCODING" not in request.META:
        return 0
    if not (told.isascii() and told.isdigit()):
        return None
    # What is cut off here is far too large with what is left, too.
    return int((told.lstrip("0") or "0")[:MOST_DIGITS])


def _answer(status: int, sentence: str) -> HttpResponse:
    return HttpResponse(f"{sentence}\n", status=status, content_type="text/plain; charset=utf-8")

"""The URL of the provider's webhooks.

Postmark does not resend an event after a 4xx other than 408 and 429. So Homing answers with a 4xx
(neither 408 nor 429) only if the password is wrong, or the body is larger than any event.
"""

import base64
import binascii
import hashlib
import hmac
import logging

from django.conf import settings
from django.db import Error as AnyDatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from delivery.feedback import event_inbox
from delivery.monitoring.database_fault import fault_of_web_process

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
MAX_TRACE_LENGTH = 100
# At most this many digits of a length are read, because Python refuses to convert thousands of
# digits.
MAX_DIGITS = 18


@method_decorator(csrf_exempt, name="dispatch")
class PostmarkWebhook(View):
    """Store one event per POST.

    The view is exempt from CSRF checks, because a password protects it.
    """

    http_method_names = ["post"]

    def post(self, request: HttpRequest) -> HttpResponse:
        """Store the event, then apply it."""
        if not (settings.POSTMARK_WEBHOOK_USER and settings.POSTMARK_WEBHOOK_PASSWORD):
            logger.error(
                "a webhook was refused: set POSTMARK_WEBHOOK_USER and POSTMARK_WEBHOOK_PASSWORD"
            )
            return _respond(503, "Webhooks are not configured here.")
        if not _is_authorised(request.headers.get("Authorization", "")):
            logger.error(
                "a webhook was refused and its event is lost: its user and password are not "
                "POSTMARK_WEBHOOK_USER and POSTMARK_WEBHOOK_PASSWORD"
            )
            response = _respond(401, "The user and password of this webhook are wrong.")
            response["WWW-Authenticate"] = 'Basic realm="webhooks"'
            return response
        length = _content_length(request)
        if length is None:
            return _respond(503, "The event has no Content-Length.")
        if length > MAX_BODY_BYTES:
            logger.error("a webhook of more than %d bytes was refused", MAX_BODY_BYTES)
            return _respond(413, f"An event may have {MAX_BODY_BYTES} bytes.")
        return _store_and_apply(request.read(length), _trace(request))


def _store_and_apply(body: bytes, trace: str | None) -> HttpResponse:
    try:
        event = event_inbox.store(body, trace)
    except AnyDatabaseError as error:
        logger.log(
            _level(logging.ERROR),
            "a webhook could not be stored (%s); Postmark sends it again",
            type(error).__name__,
        )
        return _respond(503, "The event could not be stored.")
    if event is not None:
        try:
            event_inbox.apply(event)
        except AnyDatabaseError as error:
            logger.log(
                _level(logging.WARNING),
                "event %d is applied later; the database reported %s",
                event,
                type(error).__name__,
            )
    return _respond(200, "Stored.")


def _level(otherwise: int) -> int:
    """Return the log level of a failed write: DEBUG if a logged fault explains it."""
    return logging.DEBUG if fault_of_web_process.problem() else otherwise


def _is_authorised(header: str) -> bool:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return False
    expected = f"{settings.POSTMARK_WEBHOOK_USER}:{settings.POSTMARK_WEBHOOK_PASSWORD}".encode()
    # Both texts are hashed, because compare_digest is constant-time only for texts of the same
    # length.
    return hmac.compare_digest(hashlib.sha256(given).digest(), hashlib.sha256(expected).digest())


def _trace(request: HttpRequest) -> str | None:
    """Read the id that all tries of an event share; None if it cannot be stored."""
    trace = request.headers.get("X-PM-Webhook-Trace-Id", "").strip()
    fits = 0 < len(trace) <= MAX_TRACE_LENGTH and trace.isascii() and trace.isprintable()
    return trace if fits else None


def _content_length(request: HttpRequest) -> int | None:
    """Read the body's length in bytes: 0 for an empty body, None if unknown."""
    given = request.META.get("CONTENT_LENGTH") or ""
    if not given and "HTTP_TRANSFER_ENCODING" not in request.META:
        return 0
    if not (given.isascii() and given.isdigit()):
        return None
    # A longer number is far too large even without its last digits.
    return int((given.lstrip("0") or "0")[:MAX_DIGITS])


def _respond(status: int, sentence: str) -> HttpResponse:
    return HttpResponse(f"{sentence}\n", status=status, content_type="text/plain; charset=utf-8")

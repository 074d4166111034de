"""The URL of the provider's webhooks.

Some providers do not resend an event after a 4xx. So Homing answers with a 4xx only if the address
is of another provider, the password or the signature is wrong, or the body is larger than any
event.
"""

import base64
import binascii
import hashlib
import hmac
import logging
from collections.abc import Mapping
from typing import Any

from django.db import Error as AnyDatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from delivery.feedback import event_inbox
from delivery.monitoring.database_fault import fault_of_web_process
from delivery.provider.deadline_clock import now_s
from delivery.provider.from_settings import provider_class
from delivery.provider.provider_protocol import Provider, WebhookRefusedError

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
# At most this many digits of a length are read, because Python refuses to convert thousands of
# digits.
MAX_DIGITS = 18
# Some services send hundreds of events in a request and wait a few seconds for the answer. Workers
# apply the events that are left after this time.
APPLY_S = 3.0


@method_decorator(csrf_exempt, name="dispatch")
class ProviderWebhook(View):
    """Store the events of a POST.

    The view is exempt from CSRF checks, because a password protects it.
    """

    http_method_names = ["post", "head", "get"]

    def head(self, request: HttpRequest, path: str) -> HttpResponse:
        """Say that the address exists. Some services ask once, without a password."""
        if not path or path != provider_class().capabilities().path:
            raise Http404
        return HttpResponse()

    get = head

    def post(self, request: HttpRequest, path: str) -> HttpResponse:
        """Store the events, then apply them. `path` names the provider."""
        provider = provider_class()
        can, login = provider.capabilities(), provider.webhook_login()
        if not can.path or path.replace("_", "-") != can.path:
            raise Http404
        names = " and ".join(can.login_settings)
        if not login:
            logger.error("a webhook was refused: set %s", names)
            return _respond(503, "Webhooks are not configured here.")
        if not _is_authorised(request.headers.get("Authorization", ""), login):
            logger.error(
                "a webhook was refused and its event is lost: its user and password are not %s",
                names,
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
        return _store_and_apply(provider, request.read(length), request.META)


def _store_and_apply(
    provider: type[Provider], body: bytes, environ: Mapping[str, Any]
) -> HttpResponse:
    try:
        found = provider.split_webhook(body, environ)
    except WebhookRefusedError as error:
        logger.error("a webhook was refused: %s", error.detail)
        return _respond(error.status, error.sentence)
    try:
        events = event_inbox.store_all([event for event, _ in found], [trace for _, trace in found])
    except AnyDatabaseError as error:
        logger.log(
            _level(logging.ERROR),
            "a webhook could not be stored (%s); %s sends it again",
            type(error).__name__,
            provider.capabilities().name,
        )
        return _respond(503, "The event could not be stored.")
    until_s = now_s() + APPLY_S
    for event in events:
        if now_s() >= until_s:
            break
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


def _is_authorised(header: str, login: str) -> bool:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return False
    # Both texts are hashed, because compare_digest is constant-time only for texts of the same
    # length.
    hashes = (hashlib.sha256(text).digest() for text in (given, login.encode()))
    return hmac.compare_digest(*hashes)


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

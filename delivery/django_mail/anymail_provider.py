"""A mail service that django-anymail connects, as a provider.

Each message is one request to the service's API. The requests of a call go one after another over
one kept connection.
"""

import re
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import orjson
from anymail.exceptions import AnymailError
from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as Advice
from django.core.mail import EmailMultiAlternatives, get_connection
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from delivery.django_mail import anymail_events
from delivery.django_mail.anymail_services import hide_secrets, service_from_settings
from delivery.django_mail.classify_anymail import (
    MAX_READ,
    classify_error,
    classify_status,
    may_concern_one,
)
from delivery.django_mail.django_mail_provider import (
    BATCH,
    COPY_HEADER,
    KEPT_DAYS,
    LARGEST_BATCH,
    TAG_HEADER,
    copy_of,
)
from delivery.django_mail.watched_http import WatchedHttp
from delivery.provider.deadline_clock import now_s
from delivery.provider.events import WebhookEvent
from delivery.provider.http_connection import (
    NETWORK_ERRORS,
    ResponseTooLongError,
    TooLateToStartError,
)
from delivery.provider.provider_protocol import KEY_MARGIN_S, Asks, Capabilities, Provider
from delivery.redact_addresses import read_text
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    Deferred,
    MessageResult,
    NotSent,
    NotTried,
    RejectedForAll,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Sent
from delivery.rules.reason import Reason, ReasonCode, Remedy

ERRORS = (AnymailError, TooLateToStartError, ResponseTooLongError, *NETWORK_ERRORS)
SECRET = "ANYMAIL_WEBHOOK_SECRET"  # noqa: S105 -- the name of a setting
# Keys are UUIDs, because Brevo takes nothing else.
_KEYS = uuid.UUID("1dc4b5a6-1f0f-5c37-9a04-3f3c5a4cc0bb")
REMEDIES: Mapping[str, Promise] = {
    Remedy.READ_REPLY: gettext_lazy(
        "Homing stopped before it marked any reader as failed. Do what the answer says, or ask the "
        "support of the service. Then resume."
    ),
    Remedy.MAIL_LOGIN: gettext_lazy(
        "Check the service’s key in the variables ANYMAIL_…, and what the key permits. Then resume."
    ),
    Remedy.MAIL_SETTINGS: gettext_lazy("Check the variables ANYMAIL_…, then resume."),
}


class AnymailProvider(Provider):
    """A client of the service that ANYMAIL_ESP names, for one thread."""

    def __init__(self) -> None:
        self.deadline_s = settings.DELIVERY_HTTP_DEADLINE_S
        self._service = service_from_settings()
        self._http = WatchedHttp(self.deadline_s)
        # A client that is dropped without `close` leaves no open socket.
        weakref.finalize(self, self._http.close)
        self._backend: Any = None

    @classmethod
    def capabilities(cls) -> Capabilities:
        """Return what the service can do: it answers for each message, and reports events."""
        service = service_from_settings()
        return Capabilities(
            name=service.name,
            asks=Asks.NEVER,
            largest_batch=LARGEST_BATCH,
            batch=BATCH,
            remembers_days=KEPT_DAYS,
            path=settings.ANYMAIL_ESP.replace("_", "-") if _reports() else "",
            login_settings=(SECRET,),
            webhook_events={name: name for name in service.events},
            key_lifetime_s=service.key_lifetime_s,
        )

    @classmethod
    def check_settings(cls) -> Iterator[CheckMessage]:
        """Yield what Anymail misses, an address without TLS, a short-lived key."""
        service = service_from_settings()
        try:
            with closing(_make_backend()) as backend:
                backend.open()
        # botocore has its own errors, such as a missing region.
        except Exception as error:  # noqa: BLE001 -- each is one message
            # Anymail speaks of a Django setting. Operators set the variable of the same name.
            missing = re.search(r"ANYMAIL_[A-Z_]*[A-Z]", str(error))
            problem = _("{setting} is not set.").format(setting=missing[0]) if missing else ""
            yield Error(
                _("Homing cannot send through {service}: {problem}").format(
                    service=service.name, problem=problem or _in_one_line(error)
                ),
                hint=_("docs/providers.md lists the variables of each service."),
                id="delivery.E005",
            )
        addresses = (value for value in settings.ANYMAIL.values() if isinstance(value, str))
        if any(value.startswith("http://") and not _is_local(value) for value in addresses):
            yield Advice(
                _("An address of {service} has no TLS, so its key is sent unencrypted.").format(
                    service=service.name
                ),
                hint=_("Use an https address in the variables ANYMAIL_…."),
                id="delivery.W010",
            )
        can = cls.capabilities()
        if can.repeats_with_key:
            left_s = can.key_lifetime_s - settings.DELIVERY_HTTP_DEADLINE_S - KEY_MARGIN_S
            if settings.DELIVERY_LOOKUP_AFTER_S[0] >= left_s:
                yield Advice(
                    _("The key of a call to {service} expires before Homing repeats it.").format(
                        service=service.name
                    ),
                    hint=_("Make the first time of DELIVERY_LOOKUP_AFTER_S shorter."),
                    id="delivery.W011",
                )

    @classmethod
    def remedy_sentence(cls, remedy: str) -> str:
        """Return what to do about the service's key or settings."""
        return str(REMEDIES.get(remedy, ""))

    def close(self) -> None:
        """Close the idle connections."""
        self._http.close()

    def send(
        self,
        body: bytes,
        addresses: Sequence[str],
        *,
        deadline_at_s: float,
        about_to_complete: Callable[[], None] = lambda: None,
    ) -> CallResult:
        """Send the messages one after another.

        After a result that says something about the service, the other messages are not tried. A
        refusal that may concern one message counts for that message if the next one is accepted.
        """
        if now_s() >= deadline_at_s:
            return NotSent(Reason.of(ReasonCode.NO_TIME_LEFT))
        self._http.begin(deadline_at_s, about_to_complete)
        if self._backend is None:
            opened = self._open()
            if opened is not None:
                return opened
        results: list[MessageResult] = []
        rest: Reason | None = None
        for message in orjson.loads(body):
            if rest is not None:
                results.append(NotTried(rest))
                continue
            result = self._send_one(message)
            before = results[-1] if results else None
            results.append(result)
            if isinstance(before, RejectedForAll) and isinstance(result, Sent):
                results[-2] = Failed(before.reason)
            elif may_concern_one(result) and not isinstance(before, RejectedForAll):
                continue
            elif isinstance(result, Unanswered | Deferred | NotTried | RejectedForAll):
                rest = result.reason
        if len(results) > 1 and may_concern_one(results[-1]) and isinstance(results[-2], Sent):
            results[-1] = Failed(results[-1].reason)  # type: ignore[union-attr]
        if isinstance(results[0], Deferred):
            return results[0]
        accepted = [one for one in results if isinstance(one, Sent)]
        if len(accepted) == len(results):
            return AllAccepted([one.message_id for one in accepted], [None] * len(accepted))
        if isinstance(results[0], NotTried):
            return NotSent(results[0].reason)
        return Answered(results)

    def _open(self) -> RejectedForAll | None:
        """Make Anymail's backend, with Homing's connection under it."""
        try:
            backend = _make_backend()
            if hasattr(backend, "client_params"):
                _send_amazon_over(backend, self._http)
            else:
                backend.session = self._http.session()
        # botocore has its own errors, such as a missing region.
        except Exception as error:  # noqa: BLE001 -- nothing was sent, and the text says why
            text = read_text(hide_secrets(_in_one_line(error)), 300)
            reason = Reason.of(ReasonCode.PROVIDER_ERROR, error_code=0, text=text)
            return RejectedForAll(reason.with_params(remedy=Remedy.MAIL_SETTINGS))
        self._backend = backend
        return None

    def _send_one(self, message: Mapping[str, Any]) -> MessageResult:
        proof, service, http = copy_of(message), self._service, self._http
        mail = _as_django(message, proof)
        if service.key_header:
            key = str(uuid.uuid5(_KEYS, proof))
            (mail.extra_headers if service.key_is_in_message else self._backend.session.headers)[
                service.key_header
            ] = key
        http.is_complete = False
        try:
            self._backend.send_messages([mail])
        # After the request is complete, every error of Anymail is about the answer.
        except Exception as error:
            if not (http.is_complete or isinstance(error, ERRORS)):
                raise
            return classify_error(
                error,
                service,
                is_complete=http.is_complete,
                is_late=now_s() >= http.deadline_at_s,
                url=http.origin,
                proof=proof,
            )
        status = mail.anymail_status  # type: ignore[attr-defined]
        answer = http.answer
        if answer is None:
            return Unanswered(Reason.of(ReasonCode.RESPONSE_UNREADABLE))
        text = answer.body[:MAX_READ].decode("utf-8", "replace")
        return classify_status(status, answer.status, text, service, proof)

    @classmethod
    def webhook_login(cls) -> str:
        """Return ANYMAIL_WEBHOOK_SECRET if it is `user:password`; empty otherwise."""
        secret: str = settings.ANYMAIL.get("WEBHOOK_SECRET", "")
        return secret if all(secret.partition(":")) else ""

    @classmethod
    def split_webhook(
        cls, body: bytes, environ: Mapping[str, Any]
    ) -> Sequence[tuple[bytes, str | None]]:
        """Return each event of a request as it is stored. Raises `WebhookRefusedError`."""
        return anymail_events.split(settings.ANYMAIL_ESP, environ, body)

    @classmethod
    def parse_webhook(cls, body: bytes) -> WebhookEvent:
        """Read a stored event."""
        return anymail_events.parse(body)


def _is_local(url: str) -> bool:
    return urlsplit(url).hostname in {"127.0.0.1", "localhost", "::1"}


def _reports() -> bool:
    return settings.ANYMAIL_ESP in anymail_events.VIEWS


def _make_backend() -> Any:
    return get_connection(f"anymail.backends.{settings.ANYMAIL_ESP}.EmailBackend")


def _as_django(message: Mapping[str, Any], proof: str) -> EmailMultiAlternatives:
    mail = EmailMultiAlternatives(
        message["subject"],
        message["text"] or message["html"],
        message["sender"],
        [message["to"]],
        reply_to=[message["reply_to"]] if message["reply_to"] else None,
        headers={**dict(message["headers"]), COPY_HEADER: proof, TAG_HEADER: message["tag"]},
    )
    if not message["text"]:
        mail.content_subtype = "html"
    elif message["html"]:
        mail.attach_alternative(message["html"], "text/html")
    mail.metadata = dict(message["metadata"])  # type: ignore[attr-defined]
    mail.tags = [message["tag"]]  # type: ignore[attr-defined]
    return mail


def _send_amazon_over(backend: Any, http: WatchedHttp) -> None:
    """Let botocore sign requests and read answers; send them here, once.

    botocore repeats requests by default, and an operator may have set it to repeat them.
    """
    from botocore.awsrequest import AWSResponse
    from botocore.config import Config

    once = Config(retries={"total_max_attempts": 1, "mode": "standard"})
    backend.client_params["config"] = backend.client_params["config"].merge(once)
    backend.open()

    class Body:
        def __init__(self, content: bytes) -> None:
            self._content = content

        def stream(self) -> Iterator[bytes]:
            yield self._content

    def send(request: Any, **_: Any) -> AWSResponse:
        raw = http.call(request.method, request.url, request.headers, request.body)
        return AWSResponse(request.url, raw.status, raw.headers, Body(raw.body))

    backend.client.meta.events.register_first("before-send.sesv2", send)


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__

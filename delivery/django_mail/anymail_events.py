"""Events of the services that django-anymail knows.

They follow the same rules as all events: each is stored first and applied once, in any order.
Anymail's views check the signatures and read each service's own format. Homing stores the fields
that it needs as its own JSON, so every retry of an event has the same body. Whether a bounce is
permanent is decided when the stored event is read.

Amazon SNS signs its messages, but Anymail does not verify these signatures. The user and the
password of Homing's own webhook address protect it.
"""

import logging
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib import import_module
from io import BytesIO
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import orjson
from anymail.exceptions import (
    AnymailConfigurationError,
    AnymailWebhookValidationFailure,
)
from anymail.utils import get_request_basic_auth
from django.core.handlers.wsgi import WSGIRequest
from django.http import QueryDict

from delivery.django_mail.anymail_bounces import FIELDS, is_hard, refuses_the_address, why_listed
from delivery.django_mail.anymail_services import SERVICES
from delivery.provider.event_fields import (
    MAX_DESCRIPTION_LENGTH,
    find_issue,
    parse_address,
    parse_key,
    parse_message_id,
    parse_time,
    parse_trace,
    parse_uuid,
    parse_word,
)
from delivery.provider.events import (
    Acceptance,
    AddressEvent,
    AddressSuppressed,
    Bounced,
    Delivered,
    WebhookEvent,
)
from delivery.provider.provider_protocol import ATTEMPT_FIELD, DELIVERY_FIELD, WebhookRefusedError
from delivery.redact_addresses import read_text

logger = logging.getLogger(__name__)

# Anymail's view of each service that reports events.
VIEWS: Mapping[str, str] = {
    "amazon_ses": "AmazonSESTrackingWebhookView",
    "brevo": "BrevoTrackingWebhookView",
    "mailersend": "MailerSendTrackingWebhookView",
    "mailgun": "MailgunTrackingWebhookView",
    "mailjet": "MailjetTrackingWebhookView",
    "mailtrap": "MailtrapTrackingWebhookView",
    "mandrill": "MandrillCombinedWebhookView",
    "postal": "PostalTrackingWebhookView",
    "resend": "ResendTrackingWebhookView",
    "sendgrid": "SendGridTrackingWebhookView",
    "sparkpost": "SparkPostTrackingWebhookView",
    "unisender_go": "UnisenderGoTrackingWebhookView",
}
# Reports that have the format of complaints, but are about something else (RFC 6650).
NO_COMPLAINTS = frozenset({"not-spam", "auth-failure"})
# A service reports these only about mail that it accepted. It may never have accepted a mail that
# it reports as rejected.
ACCEPTED = frozenset(
    {
        *("queued", "sent", "deferred", "delivered", "bounced"),
        *("opened", "clicked", "complained", "unsubscribed"),
    }
)
# Mailgun's id is the token of the signature, and a retry of an event may have a new one.
WITHOUT_STABLE_ID = frozenset({"mailgun"})
MAX_UNREADABLE_BYTES = 20_000
# Amazon waits 15 seconds for the answer to a confirmation.
CONFIRM_TIMEOUT_S = 4
_EMPTY: Mapping[str, Any] = MappingProxyType({})


def split(
    service: str, request_environ: Mapping[str, Any], body: bytes
) -> Sequence[tuple[bytes, str | None]]:
    """Return each event of a request as it is stored, with the id of its retries.

    The caller has checked the user and the password. Raises `WebhookRefusedError`.
    """
    if service not in VIEWS:
        raise WebhookRefusedError("This service reports no events.")
    request = _request(request_environ, body)
    view = _view(service, request)
    try:
        _check_signature(service, view, request)
        if service == "amazon_ses" and _is_about_subscription(view, request):
            return []
    except WebhookRefusedError:
        raise
    except Exception as error:  # noqa: BLE001 -- Anymail raises all kinds for unexpected bodies
        return [_unreadable(service, body, error)]
    try:
        return _read_events(service, view, request)
    except AnymailConfigurationError as error:
        raise _misconfigured(error) from None
    except Exception as error:  # noqa: BLE001 -- Anymail raises all kinds for unexpected bodies
        bodies = list(_bodies_of_single_events(service, body))
        if len(bodies) > 1:
            return _split_each(service, request_environ, bodies)
        return [_unreadable(service, body, error)]


def _request(environ: Mapping[str, Any], body: bytes) -> WSGIRequest:
    own = {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    return WSGIRequest({"wsgi.url_scheme": "https", **environ, **own})


def _view(service: str, request: WSGIRequest) -> Any:
    """Return Anymail's view.

    Raises `WebhookRefusedError` if a setting is missing or wrong.
    """
    # Homing has checked the password. Anymail confirms a subscription of Amazon SNS only if it
    # knows a password.
    secret = get_request_basic_auth(request)
    try:
        return getattr(import_module(f"anymail.webhooks.{service}"), VIEWS[service])(
            webhook_secret=secret
        )
    except AnymailConfigurationError as error:
        raise _misconfigured(error) from None
    except ValueError as error:
        raise _misconfigured(_unreadable_key(error)) from None


def _check_signature(service: str, view: Any, request: WSGIRequest) -> None:
    try:
        view.run_validators(request)
    except AnymailWebhookValidationFailure as error:
        raise _refused(error) from None
    except AnymailConfigurationError as error:
        raise _misconfigured(error) from None
    except ValueError as error:
        # Anymail reads Postal's key only here.
        if service == "postal":
            raise _misconfigured(_unreadable_key(error)) from None
        raise


def _unreadable_key(error: Exception) -> Exception:
    return ValueError(f"a key of webhooks in ANYMAIL is not readable ({type(error).__name__})")


def _refused(error: Exception) -> WebhookRefusedError:
    # Mandrill's URL contains the password.
    reason = read_text(str(error).split(" (for url", 1)[0], MAX_DESCRIPTION_LENGTH)
    return WebhookRefusedError(
        "The signature of this webhook is wrong.",
        detail=f"{reason}. Its events are lost unless the service sends them again",
    )


def _misconfigured(error: Exception) -> WebhookRefusedError:
    detail = read_text(str(error), MAX_DESCRIPTION_LENGTH)
    return WebhookRefusedError("Webhooks are not configured here.", detail=detail, status=503)


def _is_about_subscription(view: Any, request: WSGIRequest) -> bool:
    """Handle a request of Amazon SNS about its subscription.

    Returns whether the request is one.
    """
    kind = request.headers.get("x-amz-sns-message-type")
    if kind == "UnsubscribeConfirmation":
        logger.error("Amazon SNS sends no more events: subscribe this webhook to the topic again")
    if kind == "SubscriptionConfirmation":
        _confirm_subscription(view, request)
    return kind in {"SubscriptionConfirmation", "UnsubscribeConfirmation"}


def _confirm_subscription(view: Any, request: WSGIRequest) -> None:
    if not view.auto_confirm_enabled:
        logger.warning("Amazon SNS waits: confirm the subscription of this webhook in its console")
        return
    try:
        config = view.client_params["config"]
        limits = {"connect_timeout": CONFIRM_TIMEOUT_S, "read_timeout": CONFIRM_TIMEOUT_S}
        bounded = type(config)(**limits, retries={"total_max_attempts": 1})
        view.client_params = {**view.client_params, "config": config.merge(bounded)}
        view.parse_events(request)
    except Exception as error:  # noqa: BLE001 -- boto3 raises all kinds
        raise WebhookRefusedError(
            "The subscription could not be confirmed.",
            detail=f"the subscription of Amazon SNS could not be confirmed ({type(error).__name__})"
            ". Allow sns:ConfirmSubscription to the AWS credentials of Homing, then choose Request"
            " confirmation in the console of Amazon SNS",
            status=503,
        ) from None
    logger.info("Homing confirmed the subscription of Amazon SNS")


def _bodies_of_single_events(service: str, body: bytes) -> Iterator[bytes]:
    """Yield a body for each event, so that one unreadable event hides no other.

    Yields nothing for services with one event in a request.
    """
    try:
        match service:
            case "mailjet" | "sendgrid" | "sparkpost":
                for event in _list(orjson.loads(body)):
                    yield orjson.dumps([event])
            case "mailtrap":
                for event in _list(orjson.loads(body)["events"]):
                    yield orjson.dumps({"events": [event]})
            case "unisender_go":
                (user,) = orjson.loads(body)["events_by_user"]
                for event in _list(user["events"]):
                    yield orjson.dumps({"events_by_user": [{"events": [event]}]})
            case "mandrill":
                for event in _list(orjson.loads(QueryDict(body)["mandrill_events"])):
                    yield urlencode({"mandrill_events": orjson.dumps([event])}).encode()
    except (ValueError, LookupError, TypeError, OSError):
        return


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _split_each(
    service: str, environ: Mapping[str, Any], bodies: Sequence[bytes]
) -> list[tuple[bytes, str | None]]:
    """Read each event alone. The signature of their request is valid already."""
    found: list[tuple[bytes, str | None]] = []
    for body in bodies:
        request = _request(environ, body)
        try:
            found += _read_events(service, _view(service, request), request)
        except AnymailConfigurationError as error:
            raise _misconfigured(error) from None
        except Exception as error:  # noqa: BLE001 -- Anymail raises all kinds
            found.append(_unreadable(service, body, error))
    return found


def _unreadable(service: str, body: bytes, error: Exception) -> tuple[bytes, None]:
    """Return a body that is stored without effect, and log the place of the error.

    The error's message may contain an address.
    """
    frame = traceback.extract_tb(error.__traceback__)[-1]
    logger.error(
        "an event of %s is stored without effect, because it is not understood: %s in %s, line %s",
        service,
        type(error).__name__,
        frame.filename,
        frame.lineno,
    )
    shown = body[:MAX_UNREADABLE_BYTES].decode("utf-8", "replace")
    stored = {"service": service, "unreadable": shown, "sha256": sha256(body).hexdigest()}
    return orjson.dumps(stored, option=orjson.OPT_SORT_KEYS), None


def _read_events(service: str, view: Any, request: WSGIRequest) -> list[tuple[bytes, str | None]]:
    numbers = Counter[str]()
    found = []
    for event in view.parse_events(request):
        trace = None
        if service not in WITHOUT_STABLE_ID and isinstance(event.event_id, str) and event.event_id:
            # One message of Amazon SNS may hold several events.
            numbers[event.event_id] += 1
            number = numbers[event.event_id]
            trace = parse_trace(f"{service} {event.event_id}" + f" {number}" * (number > 1))
        found.append((_stored(service, event), trace))
    return found


def _stored(service: str, event: Any) -> bytes:
    own = event.esp_event if isinstance(event.esp_event, Mapping) else _EMPTY
    metadata = event.metadata if isinstance(event.metadata, Mapping) else _EMPTY
    key, attempt = parse_key(metadata.get(DELIVERY_FIELD)), metadata.get(ATTEMPT_FIELD)
    if service == "sendgrid":
        # SendGrid has a field of the same name, so Anymail leaves ours out.
        attempt = own.get(ATTEMPT_FIELD)
    attempt_id = parse_uuid(attempt)
    words = {name: _word_at(own, name.split(".")) for name in FIELDS[service]}
    tags = [event.tags] if isinstance(event.tags, str) else event.tags
    issue = find_issue(tags) if isinstance(tags, list) else None
    message_id = event.message_id
    if SERVICES[service].is_proof_the_id and key is not None and attempt_id is not None:
        message_id = f"{key}@{attempt_id.hex}"
    stored = {
        "service": service,
        "type": parse_word(event.event_type),
        "at": _time(event.timestamp),
        "message_id": parse_message_id(
            str(message_id) if isinstance(message_id, int) else message_id
        ),
        "recipient": parse_address(event.recipient),
        "description": read_text(event.description, MAX_DESCRIPTION_LENGTH),
        "mta_response": read_text(event.mta_response, MAX_DESCRIPTION_LENGTH),
        "reject_reason": parse_word(event.reject_reason),
        "delivery": str(key) if key is not None else None,
        "attempt": attempt_id.hex if attempt_id is not None else None,
        "issue": issue.hex if issue is not None else None,
        "words": {name: word for name, word in words.items() if word},
    }
    return orjson.dumps(stored, option=orjson.OPT_SORT_KEYS)


def _time(at: object) -> str | None:
    if not isinstance(at, datetime):
        return None
    parsed = parse_time((at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat())
    return parsed.isoformat() if parsed else None


def _word_at(value: object, names: Sequence[str]) -> str:
    """Return the word at a path of an event, in lower case; empty if there is none."""
    for name in names:
        if not isinstance(value, Mapping):
            return ""
        value = next(iter(value.values()), None) if name == "*" else value.get(name)
    if isinstance(value, bool | int):
        value = str(value)
    return parse_word(value).lower()


def parse(body: bytes) -> WebhookEvent:
    """Read one stored event. An event that is not understood has no effect."""
    try:
        stored = orjson.loads(body)
    except orjson.JSONDecodeError:
        stored = None
    if not isinstance(stored, dict) or parse_word(stored.get("service")) not in VIEWS:
        return WebhookEvent("", None)
    kind, address = parse_word(stored.get("type")), parse_address(stored.get("recipient"))
    message_id, key = parse_message_id(stored.get("message_id")), parse_key(stored.get("delivery"))
    at = parse_time(stored.get("at"))
    accepted = None
    if kind in ACCEPTED and key is not None and message_id is not None:
        accepted = Acceptance(key, message_id, parse_uuid(stored.get("attempt")), at)
    about = {"address": address, "at": at, "delivery": key, "message_id": message_id}
    event = _address_event(kind, stored, about) if address else None
    is_complaint = isinstance(event, Bounced) and event.kind == "SpamComplaint"
    return WebhookEvent(
        # Complaints are applied first. The inbox finds them by this name.
        "SpamComplaint" if is_complaint else kind,
        accepted,
        event,
        parse_uuid(stored.get("issue")),
        address.lower(),
    )


def _address_event(
    kind: str, stored: Mapping[str, Any], about: Mapping[str, Any]
) -> AddressEvent | None:
    service, words = stored["service"], stored.get("words")
    words = {} if not isinstance(words, dict) else words
    words = {name: word for name, word in words.items() if isinstance(word, str)}
    texts = [stored.get(name) for name in ("mta_response", "description")]
    text = " ".join(one for one in texts if isinstance(one, str))
    match kind:
        case "delivered":
            return Delivered(**about)
        case "complained" if words.get("complaint.complaintFeedbackType") not in NO_COMPLAINTS:
            bounce = "SpamComplaint"
        case "unsubscribed":
            bounce = "Unsubscribe"
        case "bounced" | "rejected" if listed := why_listed(service, kind, words, text):
            if listed != "Unsubscribe":
                return AddressSuppressed(**about, reason=listed, origin="Recipient")
            bounce = listed
        case "bounced":
            bounce = "HardBounce" if is_hard(service, words, text) else "SoftBounce"
        case "failed" if service == "postal":
            bounce = "HardBounce" if refuses_the_address(text) else "SoftBounce"
        case "rejected":
            bounce = "Blocked"
        case _:
            return None
    shown = read_text(text, MAX_DESCRIPTION_LENGTH)
    return Bounced(**about, bounce=None, kind=bounce, inactive=False, description=shown)

"""Webhooks by the services' documentation, and a provider that gets them."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from delivery.django_mail import anymail_events
from delivery.provider.events import WebhookEvent
from delivery.provider.provider_protocol import Capabilities
from tests.delivery.provider.pigeon_post import LOGIN, PigeonPost, authorization

AT = datetime(2026, 5, 4, 14, 0, tzinfo=UTC)
SECONDS, ISO = int(AT.timestamp()), "2026-05-04T14:00:00Z"
PATH = "/webhooks/anymail/"
KEY = "a key"
POSTAL = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 -- a test
POSTAL_KEY = base64.b64encode(
    POSTAL.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
).decode()
SETTINGS = {
    "MAILERSEND_SIGNING_SECRET": KEY,
    "MAILGUN_WEBHOOK_SIGNING_KEY": KEY,
    "MANDRILL_WEBHOOK_KEY": KEY,
    "POSTAL_WEBHOOK_KEY": POSTAL_KEY,
    "UNISENDER_GO_API_KEY": KEY,
}


class AnymailPigeons(PigeonPost):
    """Pigeons that leave as ever, and events in the format of a service."""

    service: ClassVar[str] = ""

    @classmethod
    def capabilities(cls) -> Capabilities:
        return replace(super().capabilities(), path="anymail")

    @classmethod
    def split_webhook(
        cls, body: bytes, environ: Mapping[str, Any]
    ) -> Sequence[tuple[bytes, str | None]]:
        return anymail_events.split(cls.service, environ, body)

    @classmethod
    def parse_webhook(cls, body: bytes) -> WebhookEvent:
        return anymail_events.parse(body)


@dataclass(frozen=True)
class Mail:
    """A copy that a service accepted."""

    message_id: str = "m-1"
    address: str = "Ann@example.net"
    delivery: str = "0" * 31 + "1.2.3"
    attempt: str = "ab" * 16

    @property
    def metadata(self) -> dict[str, str]:
        return {"delivery": self.delivery, "attempt": self.attempt}

    @property
    def tag(self) -> str:
        return f"issue-{UUID(hex=self.delivery.partition('.')[0]).hex}"


# What a service calls an event, and what it adds to it.
Said = Mapping[str, tuple[str, Mapping[str, Any]]]
_GONE = "550 5.1.1 No mailbox of someone@example.net"


def _ses_bounce(kind: str, mail: Mail) -> dict[str, Any]:
    to = {"emailAddress": mail.address, "diagnosticCode": f"smtp; {_GONE}"}
    return {"bounceType": kind, "bounceSubType": "General", "bouncedRecipients": [to]}


def amazon_ses(what: str, mail: Mail) -> dict[str, Any]:
    said: Said = {
        "delivered": ("Delivery", {"recipients": [mail.address], "smtpResponse": "250 ok"}),
        "hard": ("Bounce", _ses_bounce("Permanent", mail)),
        "soft": ("Bounce", _ses_bounce("Undetermined", mail)),
        "rejected": ("Reject", {"reason": "Bad content"}),
        "complained": ("Complaint", {"complainedRecipients": [{"emailAddress": mail.address}]}),
        "no complaint": (
            "Complaint",
            {
                "complainedRecipients": [{"emailAddress": mail.address}],
                "complaintFeedbackType": "not-spam",
            },
        ),
    }
    name, about = said[what]
    header = {"name": "X-Metadata", "value": json.dumps(mail.metadata)}
    sent = {"messageId": mail.message_id, "destination": [mail.address], "headers": [header]}
    return {"eventType": name, name.lower(): about, "mail": sent}


def brevo(what: str, mail: Mail) -> dict[str, Any]:
    names = {"hard": "hard_bounce", "soft": "soft_bounce", "complained": "spam"}
    names |= {"unsubscribed": "unsubscribe", "rejected": "blocked", "invalid": "invalid_email"}
    return {
        "event": names.get(what, what),
        "email": mail.address,
        "id": 26224,
        "ts_epoch": SECONDS * 1000,
        "message-id": mail.message_id,
        "X-Mailin-custom": json.dumps(mail.metadata),
        "tags": [mail.tag],
        "reason": "server is down",
    }


def mailersend(what: str, mail: Mail) -> dict[str, Any]:
    names = {"hard": "hard_bounced", "soft": "soft_bounced", "complained": "spam_complaint"}
    email = {"message": {"id": mail.message_id}, "recipient": {"email": mail.address}}
    data = {
        "id": f"62f114f8 {what} {mail.message_id}",
        "type": names.get(what, what),
        "created_at": "2026-05-04T14:00:00.000000Z",
        "email": email | {"tags": [mail.tag]},
        "morph": {"object": "recipient_bounce", "reason": _GONE},
    }
    return {"type": f"activity.{data['type']}", "data": data}


def mailgun(what: str, mail: Mail) -> dict[str, Any]:
    permanent, status = {"severity": "permanent"}, {"code": 550, "message": _GONE}
    said: Said = {
        "hard": ("failed", {**permanent, "reason": "bounce", "delivery-status": status}),
        "by code": ("failed", {**permanent, "reason": "generic", "delivery-status": status}),
        "soft": (
            "failed",
            {
                **permanent,
                "reason": "generic",
                "delivery-status": {"code": 550, "message": "550 5.7.1 Spam"},
            },
        ),
        "deferred": ("failed", {"severity": "temporary", "reason": "generic"}),
        "listed": ("failed", {**permanent, "reason": "suppress-complaint"}),
        "left": ("failed", {**permanent, "reason": "suppress-unsubscribe"}),
    }
    name, more = said.get(what, (what, {}))
    event = {
        "event": name,
        "timestamp": float(SECONDS),
        "recipient": mail.address,
        "message": {"headers": {"message-id": mail.message_id.strip("<>")}},
        "user-variables": mail.metadata,
        "tags": [mail.tag],
    }
    return {"event-data": event | more}


def mailjet(what: str, mail: Mail) -> dict[str, Any]:
    said: Said = {
        "delivered": ("sent", {"smtp_reply": "250 ok"}),
        "hard": ("bounce", {"hard_bounce": True, "error": "user unknown"}),
        "soft": ("bounce", {"hard_bounce": False, "error": "mailbox inactive"}),
        "complained": ("spam", {"source": "JMRPP"}),
        "unsubscribed": ("unsub", {"mj_list_id": 1}),
        "rejected": ("blocked", {"error": "preblocked"}),
        "listed": ("blocked", {"error": "spam reporter"}),
    }
    name, more = said[what]
    event = {"event": name, "time": SECONDS, "email": mail.address, "MessageID": 19421777835146490}
    return {**event, "Payload": json.dumps(mail.metadata), "customcampaign": mail.tag, **more}


def mailtrap(what: str, mail: Mail) -> dict[str, Any]:
    names = {"delivered": "delivery", "hard": "bounce", "deferred": "soft bounce"}
    names |= {"complained": "spam", "unsubscribed": "unsubscribe", "rejected": "reject"}
    event = {"event": names[what], "message_id": mail.message_id, "email": mail.address}
    more = {"timestamp": SECONDS, "event_id": f"e {what}", "custom_variables": mail.metadata}
    return {**event, **more, "category": mail.tag, "response": _GONE}


def mandrill(what: str, mail: Mail) -> dict[str, Any]:
    names = {"hard": "hard_bounce", "soft": "soft_bounce", "complained": "spam"}
    names |= {"unsubscribed": "unsub", "rejected": "reject", "listed": "reject", "sent": "send"}
    message = {"email": mail.address, "metadata": mail.metadata, "tags": [mail.tag], "diag": _GONE}
    event = {"event": names[what], "ts": SECONDS, "_id": mail.message_id, "msg": message}
    return event | ({"reject": {"reason": "hard-bounce"}} if what == "listed" else {})


def postal(what: str, mail: Mail) -> dict[str, Any]:
    message = {"id": 12345, "to": mail.address, "tag": mail.tag, "direction": "outgoing"}
    outputs = {"hard": ("HardFail", _GONE), "soft": ("HardFail", "554 5.7.1 Spam")}
    status, output = outputs.get(what, ("Sent", "250 ok"))
    payload = {"status": status, "output": output, "details": "", "message": message}
    return {"event": "x", "timestamp": float(SECONDS), "uuid": f"u-{what}", "payload": payload}


def resend(what: str, mail: Mail) -> dict[str, Any]:
    bounces = {"hard": "Permanent", "soft": "Transient"}
    names = {"hard": "bounced", "soft": "bounced", "old": "bounced", "deferred": "delivery_delayed"}
    header = {"name": "X-Metadata", "value": json.dumps(mail.metadata)}
    data = {"email_id": mail.message_id, "to": [mail.address], "headers": [header]}
    text = "The recipient's email provider sent a hard bounce message, but did not say why."
    if what in bounces:
        data["bounce"] = {"message": "A bounce message.", "type": bounces[what]}
    elif what == "old":
        data["bounce"] = {"message": text}
    return {"type": f"email.{names.get(what, what)}", "created_at": ISO, "data": data}


def sendgrid(what: str, mail: Mail) -> dict[str, Any]:
    said: Said = {
        "hard": ("bounce", {"type": "bounce", "reason": _GONE}),
        "soft": ("bounce", {"type": "blocked", "reason": "550 blocked"}),
        "complained": ("spamreport", {}),
        "unsubscribed": ("group_unsubscribe", {}),
        "rejected": ("dropped", {"reason": "Spam Content"}),
        "listed": ("dropped", {"reason": "Bounced Address"}),
        "left": ("dropped", {"reason": "Unsubscribed Address"}),
    }
    name, more = said.get(what, (what, {}))
    event = {"event": name, "timestamp": SECONDS, "email": mail.address, "category": [mail.tag]}
    ids = {"anymail_id": mail.message_id, "sg_event_id": f"sg {what} {mail.message_id}"}
    return {**event, **ids, **mail.metadata, **more}


def sparkpost(what: str, mail: Mail) -> dict[str, Any]:
    said: Said = {
        "delivered": ("delivery", {}),
        "hard": ("bounce", {"bounce_class": "10"}),
        "soft": ("bounce", {"bounce_class": "51"}),
        "complained": ("spam_complaint", {}),
        "unsubscribed": ("list_unsubscribe", {}),
        "rejected": ("policy_rejection", {"bounce_class": "25"}),
    }
    name, more = said[what]
    event = {"type": name, "timestamp": str(SECONDS), "transmission_id": mail.message_id}
    event |= {"raw_rcpt_to": mail.address, "event_id": f"sp {what}", "campaign_id": mail.tag}
    return {"msys": {"message_event": {**event, "rcpt_meta": mail.metadata, **more}}}


def unisender_go(what: str, mail: Mail) -> dict[str, Any]:
    statuses = {"hard": "hard_bounced", "soft": "hard_bounced", "complained": "spam"}
    reasons = {"hard": "err_user_unknown", "soft": "err_mailbox_full"}
    metadata = mail.metadata | {"anymail_id": mail.message_id}
    info = {"delivery_status": reasons.get(what, "ok"), "destination_response": "answer"}
    data = {"email": mail.address, "status": statuses.get(what, what), "metadata": metadata}
    data |= {"event_time": "2026-05-04 14:00:00", "delivery_info": info}
    return {"event_name": "transactional_email_status", "event_data": data}


EVENTS: Mapping[str, Callable[[str, Mail], dict[str, Any]]] = {
    name: globals()[name] for name in anymail_events.VIEWS
}


def request(service: str, *events: dict[str, Any], number: int = 1) -> tuple[bytes, dict[str, str]]:
    """Write the request of a service, with its signature, as try `number`."""
    headers = {"Authorization": authorization(), "Content-Type": "application/json"}
    several = {
        "mailtrap": {"events": events},
        "unisender_go": {"auth": KEY, "events_by_user": [{"events": events}]},
    }
    body = several.get(service, events[0])
    if service in {"mailjet", "sendgrid", "sparkpost"}:
        body = list(events)
    if service == "amazon_ses":
        body = {"Type": "Notification", "MessageId": "sns-1", "Timestamp": ISO}
        body |= {"TopicArn": "arn:aws:sns:eu-west-1:1:t", "Message": json.dumps(events[0])}
        body |= events[0].get("sns", {})
        headers["x-amz-sns-message-type"] = body["Type"]
        headers["x-amz-sns-message-id"] = body["MessageId"]
    if service == "mailgun":
        signed = {"timestamp": str(SECONDS), "token": f"token {number}"}
        mac = _mac((signed["timestamp"] + signed["token"]).encode())
        body = {**body, "signature": signed | {"signature": mac.hex()}}
    data = json.dumps(body).encode()
    match service:
        case "mailersend":
            headers["Signature"] = _mac(data).hex()
        case "mandrill":
            values = {"mandrill_events": json.dumps(events)}
            data = urlencode(values).encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            url = f"https://{LOGIN}@testserver{PATH}mandrill_events{values['mandrill_events']}"
            mac = _mac(url.encode(), "sha1")
            headers["X-Mandrill-Signature"] = base64.b64encode(mac).decode()
        case "postal":
            proof = POSTAL.sign(data, padding.PKCS1v15(), hashes.SHA1())  # noqa: S303 -- Postal's
            headers["X-Postal-Signature"] = base64.b64encode(proof).decode()
        case "resend":
            headers["svix-id"] = f"msg_{hashlib.sha256(data).hexdigest()[:20]}"
        case "unisender_go":
            proof = hashlib.md5(data, usedforsecurity=False).hexdigest()
            data = data.replace(KEY.encode(), proof.encode())
    return data, headers


def _mac(data: bytes, name: str = "sha256") -> bytes:
    return hmac.new(KEY.encode(), data, name).digest()

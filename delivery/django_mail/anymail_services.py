"""The services that django-anymail connects, and what Homing must know of each.

The lifetimes of keys are from the services' documentation: Resend, “Idempotency Keys”; Brevo,
“Idempotency for batch emails” (30 minutes) and the changelog (15 minutes). The shorter time counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings

# A shorter value would be hidden in texts in which it is no secret.
MIN_SECRET_LENGTH = 8


@dataclass(frozen=True, slots=True)
class Service:
    """A service, what its answers mean, and where it takes a key against repetitions.

    `events` are the reports that a site needs, by their names on the service's own page. The
    patterns are of answers that refuse a message. `bad_address`: no service would accept the
    recipient's address. `on_its_list`: the service's suppression list has the address. `for_all`:
    the account, the sender or the content is refused, although the status does not say so.
    `accepted_status` is the only status of an acceptance, or 0.

    The header `key_header` has the key of a message. It is a header of the HTTP request or, if
    `key_is_in_message`, of the message. For `key_lifetime_s` seconds, the service sends nothing
    twice with the same key. If `is_proof_the_id`, Homing's own name of a copy takes the place of
    the service's id, because the service's answer to a repetition has no id.
    """

    name: str
    events: tuple[str, ...] = ()
    bad_address: str = ""
    on_its_list: str = ""
    for_all: str = ""
    accepted_status: int = 0
    key_header: str = ""
    key_is_in_message: bool = False
    key_lifetime_s: float = 0.0
    is_proof_the_id: bool = False


SERVICES: Mapping[str, Service] = {
    "amazon_ses": Service(
        "Amazon SES",
        events=(
            "Deliveries",
            "Bounces",
            "Complaints",
            "Rejects",
        ),
    ),
    "brevo": Service(
        "Brevo",
        events=(
            "Delivered",
            "Soft bounce",
            "Hard bounce",
            "Complaint",
            "Unsubscribed",
            "Blocked",
            "Invalid email",
        ),
        bad_address=r'"message"\s*:\s*"email is not valid in to"',
        key_header="idempotencyKey",
        key_is_in_message=True,
        key_lifetime_s=900.0,
        is_proof_the_id=True,
    ),
    "mailersend": Service(
        "MailerSend",
        events=(
            "activity.delivered",
            "soft_bounced",
            "hard_bounced",
            "spam_complaint",
            "unsubscribed",
        ),
        bad_address=r'"to\.0\.email"\s*:',
    ),
    "mailgun": Service(
        "Mailgun",
        events=(
            "Delivered",
            "Permanent failure",
            "Temporary failure",
            "Spam complaints",
            "Unsubscribes",
        ),
        bad_address="'to' parameter is not a valid address",
    ),
    "mailjet": Service(
        "Mailjet",
        events=(
            "sent",
            "bounce",
            "blocked",
            "spam",
            "unsub",
        ),
        bad_address=r'"ErrorRelatedTo"\s*:\s*\[\s*"To\[0\]\.Email"',
    ),
    "mailtrap": Service(
        "Mailtrap",
        events=(
            "Delivery",
            "Bounce",
            "Soft bounce",
            "Spam",
            "Unsubscribe",
            "Reject",
        ),
    ),
    "mandrill": Service(
        "Mandrill",
        events=(
            "sent",
            "delivered",
            "bounced",
            "soft-bounced",
            "marked as spam",
            "rejected",
            "unsubscribes",
        ),
        for_all=r'^\s*\{[^{}]*"status"\s*:\s*"error"',
    ),
    "postal": Service(
        "Postal",
        events=(
            "MessageSent",
            "MessageDeliveryFailed",
            "MessageBounced",
        ),
        for_all=r'"status"\s*:\s*"(?:parameter-)?error"',
    ),
    "resend": Service(
        "Resend",
        events=(
            "email.delivered",
            "email.bounced",
            "email.complained",
        ),
        bad_address="Invalid `to` field",
        for_all='"invalid_idempotent_request"',
        key_header="Idempotency-Key",
        key_lifetime_s=86_400.0,
    ),
    "scaleway": Service("Scaleway"),
    "sendgrid": Service(
        "SendGrid",
        events=(
            "Delivered",
            "Bounced",
            "Dropped",
            "Spam reports",
            "Unsubscribes",
        ),
        bad_address=r'"field"\s*:\s*"personalizations\.0\.to\.0\.email"',
        accepted_status=202,
    ),
    "sparkpost": Service(
        "SparkPost",
        events=(
            "Delivery",
            "Bounce",
            "Out of Band",
            "Spam Complaint",
            "Policy Rejection",
            "List Unsubscribe",
            "Link Unsubscribe",
        ),
        on_its_list="recipient address suppressed",
    ),
    "unisender_go": Service(
        "Unisender Go",
        events=(
            "delivered",
            "hard_bounced",
            "soft_bounced",
            "spam",
            "unsubscribed",
        ),
        bad_address=r'"failed_emails"\s*:\s*\{[^{}]*:\s*"invalid"',
        on_its_list=(
            r'"failed_emails"\s*:\s*\{[^{}]*:\s*'
            r'"(?:permanent_unavailable|unsubscribed|complained|blocked)"'
        ),
    ),
}


def service_from_settings() -> Service:
    """Return the service that ANYMAIL_ESP names. The settings refuse every other name."""
    return SERVICES[settings.ANYMAIL_ESP]


def hide_secrets(text: str) -> str:
    """Replace the values of Anymail's settings, which may be secret."""
    for value in _values(settings.ANYMAIL):
        if len(value) >= MIN_SECRET_LENGTH:
            text = text.replace(value, "…")
    return text


def _values(of: object) -> list[str]:
    if isinstance(of, Mapping):
        return [value for inner in of.values() for value in _values(inner)]
    return [of] if isinstance(of, str) else []

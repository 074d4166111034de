"""The services that django-anymail connects, and what Homing must know of each.

The lifetimes of keys are from the services' documentation: Resend, “Idempotency Keys”; Brevo,
“Idempotency for batch emails” (30 minutes) and the changelog (15 minutes). The shorter time counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


@dataclass(frozen=True, slots=True)
class Service:
    """A service, and where it takes an idempotency key, if it takes one.

    The header `key_header` has the key of a message. It is a header of the HTTP request or, if
    `key_is_in_message`, of the message. For `key_lifetime_s` seconds, the service sends nothing
    twice with the same key. If `is_proof_the_id`, Homing's own name of a copy takes the place of
    the service's id, because the service's answer to a repetition has no id.
    """

    name: str
    key_header: str = ""
    key_is_in_message: bool = False
    key_lifetime_s: float = 0.0
    is_proof_the_id: bool = False


SERVICES: Mapping[str, Service] = {
    "amazon_ses": Service("Amazon SES"),
    "brevo": Service(
        "Brevo",
        key_header="idempotencyKey",
        key_is_in_message=True,
        key_lifetime_s=900.0,
        is_proof_the_id=True,
    ),
    "mailersend": Service("MailerSend"),
    "mailgun": Service("Mailgun"),
    "mailjet": Service("Mailjet"),
    "mailtrap": Service("Mailtrap"),
    "mandrill": Service("Mandrill"),
    "postal": Service("Postal"),
    "resend": Service("Resend", key_header="Idempotency-Key", key_lifetime_s=86_400.0),
    "scaleway": Service("Scaleway"),
    "sendgrid": Service("SendGrid"),
    "sparkpost": Service("SparkPost"),
    "unisender_go": Service("Unisender Go"),
}


def service_from_settings() -> Service:
    """Return the service that ANYMAIL_ESP names. Raises `ImproperlyConfigured`."""
    found = SERVICES.get(settings.ANYMAIL_ESP)
    if found is None:
        if settings.ANYMAIL_ESP == "postmark":
            expected = "MAIL_PROVIDER=postmark without ANYMAIL_ESP, with which Homing promises more"
        else:
            expected = f"one of {', '.join(SERVICES)}"
        raise ImproperlyConfigured(f"ANYMAIL_ESP is {settings.ANYMAIL_ESP!r}; expected {expected}.")
    return found

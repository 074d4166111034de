"""Each service's settings, and its answer to a message that it accepts."""

import json
from typing import Any

from tests.delivery.provider.pigeon_post import LOGIN

ADDRESS = "reader1@example.net"

# Anymail's settings besides the address of the API, the answer's status, and its body.
ACCOUNTS: dict[str, tuple[dict[str, Any], str, Any]] = {
    "amazon_ses": ({}, "200 OK", {"MessageId": "m-1"}),
    "brevo": ({"API_KEY": "k"}, "201 Created", {"messageId": "m-1"}),
    "mailersend": ({"API_TOKEN": "k"}, "202 Accepted", {}),
    "mailgun": (
        {"API_KEY": "k", "SENDER_DOMAIN": "news.example.org"},
        "200 OK",
        {"id": "m-1", "message": "Queued. Thank you."},
    ),
    "mailjet": (
        {"API_KEY": "k", "SECRET_KEY": "s"},
        "200 OK",
        {"Messages": [{"Status": "success", "To": [{"Email": ADDRESS, "MessageID": "m-1"}]}]},
    ),
    "mailtrap": ({"API_TOKEN": "k"}, "200 OK", {"success": True, "message_ids": ["m-1"]}),
    "mandrill": ({"API_KEY": "k"}, "200 OK", [{"email": ADDRESS, "status": "sent", "_id": "m-1"}]),
    "postal": (
        {"API_KEY": "k"},
        "200 OK",
        {"status": "success", "data": {"messages": {ADDRESS: {"id": 17, "token": "t"}}}},
    ),
    "resend": ({"API_KEY": "secret-key"}, "200 OK", {"id": "m-1"}),
    "scaleway": (
        {"SECRET_KEY": "k", "PROJECT_ID": "p"},
        "200 OK",
        {"emails": [{"id": "m-1", "mail_rcpt": ADDRESS, "status": "new"}]},
    ),
    "sendgrid": ({"API_KEY": "k"}, "202 Accepted", ""),
    "sparkpost": (
        {"API_KEY": "k"},
        "200 OK",
        {
            "results": {
                "total_accepted_recipients": 1,
                "total_rejected_recipients": 0,
                "id": "m-1",
            }
        },
    ),
    "unisender_go": (
        {"API_KEY": "k"},
        "200 OK",
        {"status": "success", "job_id": "m-1", "emails": [ADDRESS]},
    ),
}


def use(settings: Any, service: str, url: str, **more: Any) -> None:
    """Send through this service at a server, as the variables ANYMAIL_… would say."""
    prefix = service.upper()
    own = ACCOUNTS[service][0] | {"API_URL": url}
    if service == "amazon_ses":
        keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s"}
        where = {"endpoint_url": url, "region_name": "eu-central-1"}
        own = {"CLIENT_PARAMS": {**where, **keys, **more}}
    settings.MAIL_PROVIDER, settings.ANYMAIL_ESP = "django", service
    settings.DELIVERY_UNKNOWN_POLICY = "hold"
    settings.ANYMAIL = {f"{prefix}_{name}": value for name, value in own.items()} | {
        "WEBHOOK_SECRET": LOGIN,
        "IGNORE_RECIPIENT_STATUS": True,
        "IGNORE_UNSUPPORTED_FEATURES": True,
    }


def acceptance(service: str) -> tuple[str, bytes]:
    """Return the status and the body of the service's answer about one message."""
    _, status, content = ACCOUNTS[service]
    return status, json.dumps(content).encode() if content != "" else b""

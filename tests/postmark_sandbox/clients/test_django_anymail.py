"""The sandbox serves the backend and the webhook view of django-anymail."""

from typing import Any

import pytest
from anymail.exceptions import AnymailAPIError, AnymailRecipientsRefused
from anymail.message import AnymailMessage
from anymail.signals import AnymailTrackingEvent, tracking
from anymail.webhooks.postmark import PostmarkTrackingWebhookView
from django.core.mail import get_connection
from django.test import RequestFactory

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import Caller, a_message
from tests.postmark_sandbox.webhook_receiver import Receiver


def letter(server: SandboxServer, *to: str, **changes: Any) -> AnymailMessage:
    """Return a mail that goes to the sandbox."""
    backend = "anymail.backends.postmark.EmailBackend"
    url = f"{server.url}/"
    connection = get_connection(backend, server_token="a-server-token", api_url=url)
    message = AnymailMessage(
        "Tide tables", "High water at seven.", "letter@example.org", to, connection=connection
    )
    message.esp_extra = {"MessageStream": "broadcast"}
    message.metadata = {"delivery": "1"}
    message.tags = ["issue-1"]
    for name, value in changes.items():
        setattr(message, name, value)
    return message


def test_backend_sends_a_mail(server: SandboxServer, caller: Caller) -> None:
    message = letter(server, "Réader <reader@example.net>")
    message.attach_alternative("<p>High water at seven.</p>", "text/html")

    assert message.send() == 1

    status = message.anymail_status.recipients["reader@example.net"]
    (found,) = caller.search()["Messages"]
    assert (status.status, status.message_id) == ("sent", found["MessageID"])
    assert (found["Tag"], found["Metadata"]) == ("issue-1", {"delivery": "1"})


def test_backend_sends_a_batch(server: SandboxServer, caller: Caller) -> None:
    message = letter(server, "one@example.net", "two@example.net")
    message.merge_metadata = {"one@example.net": {"delivery": "1"}}

    message.send()

    sent = message.anymail_status.recipients.values()
    assert [each.status for each in sent] == ["sent", "sent"]
    assert {each.message_id for each in sent} == {
        each["MessageID"] for each in caller.search()["Messages"]
    }


@pytest.mark.parametrize(
    ("address", "status"),
    [("invalid@bounce.example", "invalid"), ("inactive@bounce.example", "rejected")],
)
def test_backend_understands_a_refused_address(
    server: SandboxServer, address: str, status: str
) -> None:
    message = letter(server, address)

    with pytest.raises(AnymailRecipientsRefused):
        message.send()

    assert message.anymail_status.status == {status}


def test_backend_understands_a_refused_message(server: SandboxServer) -> None:
    with pytest.raises(AnymailAPIError, match="'x' does not exist on this server"):
        letter(server, "reader@example.net", esp_extra={"MessageStream": "x"}).send()


def test_webhook_view_understands_each_event(
    posting: Caller, receiver: Receiver, settings: Any
) -> None:
    """Pass what the sandbox posted to django-anymail's view, with its password."""
    settings.ANYMAIL_WEBHOOK_SECRET = "pm:s:cret"
    names = ("reader", "hardbounce", "complaint", "unsubscribe")
    results = posting.send(*(a_message(To=f"{name}@bounce.example") for name in names))
    events: list[AnymailTrackingEvent] = []

    def keep(event: AnymailTrackingEvent, **_: Any) -> None:
        events.append(event)

    tracking.connect(keep)
    try:
        receiver.events(8)
        for headers, event in receiver.got:
            request = RequestFactory().post(
                "/hook/",
                event,
                content_type=headers["content-type"],
                headers={"Authorization": headers["authorization"]},
            )
            assert PostmarkTrackingWebhookView.as_view()(request).status_code == 200
    finally:
        tracking.disconnect(keep)

    found = sorted((each.recipient, each.event_type, str(each.reject_reason)) for each in events)
    assert [(recipient.partition("@")[0], *what) for recipient, *what in found] == [
        ("complaint", "complained", "spam"),
        ("complaint", "complained", "spam"),
        ("complaint", "delivered", "None"),
        ("hardbounce", "bounced", "bounced"),
        ("hardbounce", "bounced", "bounced"),
        ("reader", "delivered", "None"),
        ("unsubscribe", "delivered", "None"),
        ("unsubscribe", "unsubscribed", "unsubscribed"),
    ]
    assert {each.message_id for each in events} == {each["MessageID"] for each in results}
    assert all(int(each.event_id) < 2**31 for each in events if each.event_id)
    assert all(each.timestamp.tzinfo for each in events)

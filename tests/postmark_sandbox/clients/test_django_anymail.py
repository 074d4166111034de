"""The sandbox serves the backend and the webhook view of django-anymail."""

from typing import Any

import pytest
from anymail.backends.postmark import EmailBackend
from anymail.exceptions import AnymailAPIError, AnymailRecipientsRefused
from anymail.message import AnymailMessage
from anymail.signals import AnymailTrackingEvent, tracking
from anymail.webhooks.postmark import PostmarkTrackingWebhookView
from django.test import RequestFactory

from postmark_sandbox.server import SandboxServer
from tests.postmark_sandbox.caller import Caller, a_message
from tests.postmark_sandbox.webhook_receiver import Receiver


@pytest.fixture(autouse=True)
def anymails_own_defaults(settings: Any) -> None:
    settings.ANYMAIL = {}


def letter(*to: str) -> AnymailMessage:
    message = AnymailMessage("Tide tables", "High water at seven.", "letter@example.org", to)
    message.esp_extra = {"MessageStream": "broadcast"}
    message.metadata = {"delivery": "1"}
    message.tags = ["issue-1"]
    return message


def send(message: AnymailMessage, server: SandboxServer) -> int:
    """Send with the backend directly, because Django 6.1 changes the settings of mail."""
    backend = EmailBackend(server_token="a-server-token", api_url=f"{server.url}/")
    return int(backend.send_messages([message]))


def test_backend_sends_a_mail(server: SandboxServer, caller: Caller) -> None:
    message = letter("Réader <reader@example.net>")
    message.attach_alternative("<p>High water at seven.</p>", "text/html")

    assert send(message, server) == 1

    status = message.anymail_status.recipients["reader@example.net"]
    (found,) = caller.search()["Messages"]
    assert (status.status, status.message_id) == ("sent", found["MessageID"])
    assert (found["Tag"], found["Metadata"]) == ("issue-1", {"delivery": "1"})


def test_backend_sends_a_batch(server: SandboxServer, caller: Caller) -> None:
    message = letter("one@example.net", "two@example.net")
    message.merge_metadata = {"one@example.net": {"delivery": "1"}}

    send(message, server)

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
    message = letter(address)

    with pytest.raises(AnymailRecipientsRefused):
        send(message, server)

    assert message.anymail_status.status == {status}


def test_backend_understands_a_refused_message(server: SandboxServer) -> None:
    message = letter("reader@example.net")
    message.esp_extra = {"MessageStream": "x"}
    with pytest.raises(AnymailAPIError, match="'x' does not exist on this server"):
        send(message, server)


def test_webhook_view_understands_each_event(
    posting: Caller, receiver: Receiver, settings: Any
) -> None:
    """Pass the sandbox's posts, with their password, to django-anymail's view."""
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

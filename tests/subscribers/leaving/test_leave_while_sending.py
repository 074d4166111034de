"""Unsubscribing takes effect immediately, also for an issue being sent."""

import email
from email.message import Message
from urllib.parse import urlsplit

import requests
from django.conf import LazySettings
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from delivery.models import Delivery, Edition
from postmark_sandbox.server import SandboxServer
from subscribers.links.unsubscribe_token import token_for
from subscribers.models import ConsentRecord, Subscriber
from tests.delivery.conftest import newsroom, provider
from tests.delivery.edition_factory import Newsroom
from tests.delivery.queue.test_start_call import a_call_held_by
from tests.subscribers.leaving.test_unsubscribe_view import ONE_CLICK

__all__ = ["newsroom", "provider"]

URLENCODED = ("application/x-www-form-urlencoded", ONE_CLICK)


def reader(number: int) -> Subscriber:
    return Subscriber.objects.get(email=f"reader{number}@example.net")


def leaves(who: Subscriber) -> None:
    """Unsubscribe as a mail program does."""
    kind, body = URLENCODED
    page = Client().generic("POST", f"/unsubscribe/{token_for(who.pk)}/", body, content_type=kind)
    assert page.status_code == 200


def outcome(edition: Edition, who: Subscriber) -> str:
    return Delivery.objects.get(issue=edition.issue_id, recipient=who.pk).outcome


def test_unsubscribing_during_the_call_does_not_stop_the_copy(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)

    with a_call_held_by(provider, newsroom, "after_accept"):
        leaves(reader(1))

    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert reader(1).state == "unsubscribed"
    following = newsroom.publish()
    newsroom.deliver_all()
    assert following.audience == 2
    assert provider.sandbox.summary()["accepted"] == 5


def mail_from_the_inbox(provider: SandboxServer, edition: Edition, who: Subscriber) -> Message:
    message_id = Delivery.objects.get(issue=edition.issue_id, recipient=who.pk).provider_message_id
    dump = requests.get(
        f"{provider.url}/messages/outbound/{message_id}/dump",
        headers={"X-Postmark-Server-Token": "sandbox", "Accept": "application/json"},
        timeout=10,
    )
    return email.message_from_string(dump.json()["Body"])


def one_click_address(mail: Message) -> str:
    """Check the two headers of RFC 8058 and return the URL."""
    (address,) = mail.get_all("List-Unsubscribe") or []
    (post,) = mail.get_all("List-Unsubscribe-Post") or []
    assert post == "List-Unsubscribe=One-Click"
    assert address.startswith("<https://")
    assert address.endswith(">")
    return str(address[1:-1])


def request_status(
    server: LiveServer, method: str, address: str, kind: str = "", body: bytes = b""
) -> int:
    """Send a request without cookies and return its status."""
    url, headers = f"{server.url}{urlsplit(address).path}", {"Content-Type": kind} if kind else {}
    answer = requests.request(
        method, url, data=body, headers=headers, timeout=30, allow_redirects=False
    )
    return answer.status_code


def test_one_click_in_a_sent_mail_unsubscribes(
    newsroom: Newsroom, provider: SandboxServer, live_server: LiveServer
) -> None:
    edition = newsroom.publish(readers=2, html="<p>Dear {{ name|reader }}</p>")
    newsroom.deliver_all()
    mail = mail_from_the_inbox(provider, edition, reader(1))
    address = one_click_address(mail)
    for part in mail.walk():
        if part.get_content_maintype() == "text":
            payload = part.get_payload(decode=True)
            assert isinstance(payload, bytes)
            assert address in payload.decode()

    assert request_status(live_server, "GET", address) == 200
    assert request_status(live_server, "HEAD", address) == 200
    assert reader(1).state == "confirmed"

    for _ in range(2):
        assert request_status(live_server, "POST", address, *URLENCODED) == 200

    assert reader(1).state == "unsubscribed"
    assert reader(0).state == "confirmed"
    assert ConsentRecord.objects.get().how == "one-click"


def test_provider_unsubscribe_link_is_used_and_ours_still_works(
    newsroom: Newsroom, live_server: LiveServer, settings: LazySettings
) -> None:
    settings.UNSUBSCRIBE_HANDLING = "postmark"
    settings.POSTMARK_SERVER_TOKEN = "sandbox"
    with SandboxServer(unsubscribe_handling="Postmark") as provider:
        settings.POSTMARK_BASE_URL = provider.url
        edition = newsroom.publish(readers=1)
        newsroom.deliver_all()
        mail = mail_from_the_inbox(provider, edition, reader(0))

    (header,) = mail.get_all("List-Unsubscribe") or []
    assert header.startswith(f"<{provider.url}/")  # only the provider's link
    ours = f"/unsubscribe/{token_for(reader(0).pk)}/"
    assert ours not in mail.as_string()
    # Earlier letters contain our link, so it must still work.
    assert request_status(live_server, "POST", ours, *URLENCODED) == 200
    assert reader(0).state == "unsubscribed"

"""Actions for webhook tests: write events as Postmark does, and run a site."""

from __future__ import annotations

import threading
import uuid
from base64 import b64encode
from typing import Any

import orjson
from django.core.handlers.wsgi import WSGIHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.test import Client

from delivery.feedback.record_delivery_event import delivery as delivery_of
from delivery.models import Edition
from delivery.rules import delivery_key
from delivery.rules.delivery_key import DeliveryKey

USER, PASSWORD = "postmark", "long: and random"
PATH = "/webhooks/postmark/"


def credentials(user: str = USER, password: str = PASSWORD) -> str:
    """Return the value of the header for Basic authentication."""
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


def post(
    body: bytes | dict[str, Any],
    *,
    client: Client | None = None,
    path: str = PATH,
    length: str | None = None,
    **headers: str,
) -> int:
    """Post an event as Postmark does; return the status of the answer."""
    answer = (client or Client(enforce_csrf_checks=True)).generic(
        "POST",
        path,
        body if isinstance(body, bytes) else orjson.dumps(body),
        content_type="application/json",
        secure=True,
        headers={"Authorization": credentials()} | headers,
        **({} if length is None else {"CONTENT_LENGTH": length}),
    )
    return int(answer.status_code)


def key_of(edition: Edition, recipient: int) -> str:
    """Return a delivery's key as the metadata of a mail contains it."""
    return str(DeliveryKey(edition.issue_id, edition.version, recipient))


def event(
    delivery: str,
    message_id: str | None,
    *,
    record_type: str = "Delivery",
    attempt: uuid.UUID | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Write one event about one message, by default with the address of its copy."""
    return {
        "RecordType": record_type,
        "MessageStream": "broadcast",
        "ServerID": 4711,
        "MessageID": message_id,
        "Recipient": _address_of(delivery),
        "Tag": "",
        "DeliveredAt": "2024-05-04T14:15:30.1230000Z",
        "BouncedAt": "2024-05-04T14:15:31.0000000Z",
        "ChangedAt": "2024-05-04T15:00:00Z",
        "ReceivedAt": "2024-05-04T16:00:00.0000000Z",
        "Metadata": {"delivery": delivery} | ({"attempt": attempt.hex} if attempt else {}),
        **more,
    }


def _address_of(delivery: str) -> str:
    key = delivery_key.read(delivery)
    copy = key and delivery_of(key).first()
    return (copy and copy.address) or "a@example.net"


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- its name there
        """Write no log lines."""


class WebSite:
    """The real site behind a port of this machine, answering in threads."""

    def __init__(self) -> None:
        self._server = ThreadedWSGIServer(("127.0.0.1", 0), _Quiet)
        self._server.daemon_threads = False
        self._server.set_app(WSGIHandler())
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def webhook_url(self) -> str:
        """Return the URL to which Postmark sends events, with user and password."""
        return f"http://{USER}:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{self.port}{PATH}"

    def __enter__(self) -> WebSite:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

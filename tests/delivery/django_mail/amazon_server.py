"""Moto's server of Amazon SES on a loopback port, which can lose its answers."""

import base64
import io
import json
import logging
import socket
import threading
from collections.abc import Iterable
from email import message_from_bytes
from email.message import Message
from typing import Any

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

SENDING = "/v2/email/outbound-emails"


class _KeepsConnections(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_: Any) -> None:
        """Write nothing for each request."""


class AmazonServer:
    """A server that keeps what it accepts. It loses its answers to messages to `cut`.

    It also loses the next answers for which `cut_next` has a true value.
    """

    def __init__(self, sender: str) -> None:
        self.accepted: list[Message] = []
        self.recipients: list[str] = []
        self.cut: set[str] = set()
        self.cut_next: list[bool] = []
        self.ids: list[str] = []
        self._changed = threading.Condition()
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._server = make_server(
            "127.0.0.1", 0, self._app, threaded=True, request_handler=_KeepsConnections
        )
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.params = {
            "endpoint_url": f"http://127.0.0.1:{self._server.server_port}",
            "region_name": "eu-central-1",
            "aws_access_key_id": "test-key",
            "aws_secret_access_key": "test-secret",
        }
        self._sender = sender
        self.port = self._server.server_port

    def __enter__(self) -> "AmazonServer":
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._thread.start()
        amazon = boto3.client("sesv2", **self.params)
        amazon.create_email_identity(EmailIdentity=self._sender)
        amazon.close()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join(timeout=20)
        self._server.server_close()

    def variables(self, url: str = "") -> dict[str, str]:
        """Return the environment of a site that sends here, or through `url`."""
        params = self.params | ({"endpoint_url": url} if url else {})
        return {
            "MAIL_PROVIDER": "django",
            "ANYMAIL_ESP": "amazon_ses",
            "ANYMAIL_AMAZON_SES_CLIENT_PARAMS": json.dumps(params),
        }

    def wait_until_accepted(self, number: int) -> None:
        """Wait until this many messages were accepted."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.recipients) >= number, timeout=240)

    def _app(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        answer = list(self._moto(environ, start_response))
        if environ["PATH_INFO"] == SENDING and b"MessageId" in b"".join(answer):
            call = json.loads(body)
            (address,) = call["Destination"]["ToAddresses"]
            raw = base64.b64decode(call["Content"]["Raw"]["Data"])
            with self._changed:
                self.accepted.append(message_from_bytes(raw))
                self.ids.append(json.loads(b"".join(answer))["MessageId"])
                self.recipients.append(address)
                is_cut = self.cut_next.pop(0) if self.cut_next else address in self.cut
                self._changed.notify_all()
            if is_cut:
                environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        return answer

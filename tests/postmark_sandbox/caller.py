"""A caller of the sandbox over a real socket, and the messages that it sends."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

ISSUE = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
ATTEMPT = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
LEFT_OUT = object()


def a_message(number: int = 1, **changes: Any) -> dict[str, Any]:
    """Build a message that Postmark accepts.

    `changes` replace fields or, with LEFT_OUT, drop them.
    """
    message: dict[str, Any] = {
        "From": "Homing <letter@example.org>",
        "To": f"reader{number}@example.net",
        "Subject": "Tide tables",
        "HtmlBody": f"<p>Hello, reader {number}.</p>",
        "TextBody": f"Hello, reader {number}.",
        "Tag": "issue-1",
        "Metadata": {"delivery": f"{ISSUE}.1.{number}", "attempt": ATTEMPT},
        "Headers": [{"Name": "Message-ID", "Value": f"<1.{number}@example.org>"}],
        "MessageStream": "broadcast",
    }
    message |= changes
    return {name: value for name, value in message.items() if value is not LEFT_OUT}


def messages(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [a_message(number, **changes) for number in range(1, count + 1)]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def code(self) -> int:
        return int(self.json["ErrorCode"])

    @property
    def message(self) -> str:
        return str(self.json["Message"])


class Caller:
    """A caller of one sandbox. Each call uses a new connection."""

    def __init__(self, url: str, timeout_s: float = 20) -> None:
        self.host = urlsplit(url).netloc
        self.timeout_s = timeout_s

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str | None] | None = None,
    ) -> Reply:
        """Make one call with the API's headers; a header that is None is left out."""
        given: dict[str, str | None] = {
            "X-Postmark-Server-Token": "a token",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        given.update(headers or {})
        connection = HTTPConnection(self.host, timeout=self.timeout_s)
        try:
            sent = {name: value for name, value in given.items() if value is not None}
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())
        finally:
            connection.close()

    def post(self, path: str, value: Any, **headers: str | None) -> Reply:
        return self.call("POST", path, json.dumps(value).encode(), headers)

    def get(self, path: str, **query: Any) -> Reply:
        return self.call("GET", f"{path}?{urlencode(query)}" if query else path)

    def send(self, *sent: dict[str, Any]) -> list[dict[str, Any]]:
        reply = self.post("/email/batch", list(sent))
        assert reply.status == 200, reply.body
        return list(reply.json)

    def search(self, **query: Any) -> dict[str, Any]:
        asked = {"count": 500, "offset": 0, "messagestream": "broadcast"} | query
        reply = self.get("/messages/outbound", **asked)
        assert reply.status == 200, reply.body
        return dict(reply.json)

    def fault(self, kind: str, **settings: Any) -> dict[str, Any]:
        reply = self.post("/__sandbox__/faults", {"kind": kind, **settings})
        assert reply.status == 200, reply.body
        return dict(reply.json)

    def summary(self) -> dict[str, Any]:
        return dict(self.get("/__sandbox__/summary").json)

    def form(self, path: str, /, **fields: str) -> Reply:
        """Post an HTML form as a browser on the sandbox's own page does."""
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": f"http://{self.host}",
        }
        return self.call("POST", path, urlencode(fields).encode(), dict(headers))

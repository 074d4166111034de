"""The yardsticks do the worker's work: what they send has the same keys and lengths."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest
import requests

from benchmarks.provider_process import ProviderProcess
from benchmarks.sending import bare_loop_rate, one_by_one_rate, worker_rate
from benchmarks.site import Site, a_site

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

READERS = 30
SENDERS: list[Callable[[Site], float]] = [
    lambda site: worker_rate(site, READERS),
    lambda site: bare_loop_rate(site, READERS, batch=20),
    lambda site: one_by_one_rate(site, READERS),
]


class Tapped(ProviderProcess):
    """The provider behind a tap at which messages are noted."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        provider = self

        class Tap(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if body:
                    sent = orjson.loads(body)
                    provider.messages += sent if isinstance(sent, list) else [sent]
                url = provider._address + self.path
                answer = requests.request(self.command, url, data=body, timeout=60).content
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *args: object) -> None:
                pass

        self.tap = ThreadingHTTPServer(("127.0.0.1", 0), Tap)
        threading.Thread(target=self.tap.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.tap.server_address[1]}"

    def start(self, **options: Any) -> str:
        super().start(**options)
        return self.url

    def close(self) -> None:
        self.stop()
        self.tap.shutdown()
        self.tap.server_close()


def shape(value: Any) -> Any:
    """Keys and kinds of a message, all the way down, and the names of its headers."""
    if isinstance(value, dict):
        if set(value) == {"Name", "Value"}:
            return value["Name"]
        return {key: shape(value[key]) for key in value}
    if isinstance(value, list):
        return sorted(shape(each) for each in value)
    return type(value).__name__


def test_the_worker_and_the_yardsticks_send_the_same_messages_of_2_kb() -> None:
    with a_site() as site, closing(Tapped()) as provider:
        site = replace(site, provider=provider)
        site.readers(READERS)
        by_sender = []
        for send in SENDERS:
            provider.messages = []
            send(site)
            by_sender.append({message["To"]: message for message in provider.messages})
    for messages in by_sender:
        assert len(messages) == READERS
        # Each has a link of its own, in the letter and in the header.
        links = set()
        for address, message in messages.items():
            worker_s = by_sender[0][address]
            assert shape(message) == shape(worker_s)
            for one, other in ((message, worker_s), (message["HtmlBody"], worker_s["HtmlBody"])):
                assert len(orjson.dumps(one)) == pytest.approx(len(orjson.dumps(other)), rel=0.02)
            assert len(message["HtmlBody"].encode()) == pytest.approx(2_000, abs=60)
            headers = {header["Name"]: header["Value"] for header in message["Headers"]}
            link = headers["List-Unsubscribe"].strip("<>")
            assert f'href="{link}"' in message["HtmlBody"]
            links.add(link)
        assert len(links) == READERS

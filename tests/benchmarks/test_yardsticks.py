"""The yardsticks do the same work as the worker: what they send has the same keys and lengths."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import pytest
import requests

from benchmarks import sending
from benchmarks.letter import LETTER, letter
from benchmarks.provider_process import ProviderProcess
from benchmarks.sending import bare_loop_rate, one_by_one_rate, worker_rate
from benchmarks.site import Site, a_site

pytestmark = pytest.mark.timeout(300)

READERS = 30
Send = Callable[[Site], float]
YARDSTICKS: dict[str, Send] = {
    "bare loop": lambda site: bare_loop_rate(site, READERS, batch=20),
    "one by one": lambda site: one_by_one_rate(site, READERS),
}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """One for all tests here."""
    with a_site() as site:
        site.readers(READERS)
        yield site


@contextmanager
def recorded(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """All messages that go to the provider meanwhile; they are passed on to it."""
    messages: list[dict[str, Any]] = []
    real = ProviderProcess.url.fget
    assert real is not None

    class Between(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.passed_on(None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told = orjson.loads(body)
            messages.extend(told if isinstance(told, list) else [told])
            self.passed_on(body)

        def passed_on(self, body: bytes | None) -> None:
            method = "GET" if body is None else "POST"
            url = real(site.provider) + self.path
            answered = requests.request(method, url, data=body, timeout=60).content
            self.send_response(200)
            self.send_header("Content-Length", str(len(answered)))
            self.end_headers()
            self.wfile.write(answered)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        between = f"http://127.0.0.1:{server.server_address[1]}"
        start = ProviderProcess.start
        monkeypatch.setattr(
            ProviderProcess, "start", lambda *args, **options: start(*args, **options) and between
        )
        monkeypatch.setattr(ProviderProcess, "url", property(lambda _: between))
        try:
            yield messages
        finally:
            server.shutdown()


def shape(value: Any) -> Any:
    """Keys and kinds of a message, all the way down, and the names of its headers."""
    if isinstance(value, dict):
        if set(value) == {"Name", "Value"}:
            return value["Name"]
        return {key: shape(value[key]) for key in value}
    if isinstance(value, list):
        return sorted(shape(each) for each in value)
    return type(value).__name__


@pytest.mark.parametrize("yardstick", YARDSTICKS)
def test_it_sends_what_the_worker_sends(
    site: Site, monkeypatch: pytest.MonkeyPatch, yardstick: str
) -> None:
    with recorded(site, monkeypatch) as by_worker:
        worker_rate(site, READERS)
    monkeypatch.undo()
    with recorded(site, monkeypatch) as by_yardstick:
        YARDSTICKS[yardstick](site)
    monkeypatch.undo()
    assert len(by_worker) == len(by_yardstick) == READERS
    theirs = {message["To"]: message for message in by_yardstick}
    for message in by_worker:
        other = theirs[message["To"]]
        assert shape(other) == shape(message)
        for one, another in ((other, message), (other["HtmlBody"], message["HtmlBody"])):
            assert len(orjson.dumps(one)) == pytest.approx(len(orjson.dumps(another)), rel=0.02)
        number = message["To"].partition("@")[0].removeprefix("reader")
        assert f"Dear Reader {number}, the swifts" in message["HtmlBody"]
        assert f"Dear Reader {number}, the swifts" in other["HtmlBody"]
    for messages in (by_worker, by_yardstick):
        # Each has a link of its own, in the letter and in the header.
        links = [
            header["Value"].strip("<>")
            for message in messages
            for header in message["Headers"]
            if header["Name"] == "List-Unsubscribe"
        ]
        assert len(set(links)) == READERS
        for link, message in zip(links, messages, strict=True):
            assert re.search(rf'href="{re.escape(link)}"', message["HtmlBody"])


def test_the_letter_is_2_kb_in_the_mail(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded(site, monkeypatch) as messages:
        worker_rate(site, READERS)
    for message in messages:
        assert len(message["HtmlBody"].encode()) == pytest.approx(2_000, abs=60)
        assert "TextBody" not in message


@pytest.mark.parametrize("length", [1_000, 10_000, 100_000])
def test_a_letter_is_as_long_as_it_is_to_be(length: int) -> None:
    assert len(letter(length)) == pytest.approx(length, abs=70)
    assert LETTER.count("{{") == 2


@pytest.mark.parametrize("send", [lambda site: worker_rate(site, READERS), *YARDSTICKS.values()])
def test_copies_that_are_lost_or_sent_twice_are_no_rate(
    site: Site, monkeypatch: pytest.MonkeyPatch, send: Send
) -> None:
    real = ProviderProcess.counts

    def one_less(provider: ProviderProcess) -> Any:
        counts = real(provider)
        return dataclasses.replace(counts, readers=counts.readers - 1)

    monkeypatch.setattr(ProviderProcess, "counts", one_less)
    with pytest.raises(sending.NotTheSameError, match="30 messages to 29 different readers"):
        send(site)


def test_a_yardstick_that_fails_says_why(site: Site) -> None:
    with pytest.raises(RuntimeError, match="bare_loop failed:"):
        bare_loop_rate(site, READERS + 1, batch=20)

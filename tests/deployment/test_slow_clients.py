"""Slow clients hold no thread: probes and pages are answered in time."""

import re
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from newsletter_site.operations.concurrency_limit import MAX_CONCURRENT_REQUESTS
from newsletter_site.serving.request_parser import IN_MEMORY
from tests.deployment.conftest import Sites
from tests.deployment.nginx_proxy import running_proxy
from tests.deployment.served_site import FROM_THE_PROXY, PATIENCE_S, ServedSite

pytestmark = pytest.mark.django_db

MANY = 100
BURST = 600
ANNOUNCED = 100_000
HOST = FROM_THE_PROXY["Host"]
# At these addresses, the site refuses callers before it reads the body.
REFUSING = [
    "/api/v1/issues/",
    "/api/v1/imports/",
    "/webhooks/postmark/",
    "/unsubscribe/x/",
    "/admin/newsletters/imports/",
]
READING = [
    "/subscriptions/",
    "/subscriptions/confirm/?subscription_token=x",
    "/record/",
    "/admin/login/",
    "/admin/newsletters/",
    "/admin/newsletters/preview/",
]
PROBES = ["/health/live/", "/health/ready/"]
PAGES = ["/", "/archive/"]
Connect = Callable[[], socket.socket]


@pytest.fixture(scope="module")
def site(sites: Sites) -> ServedSite:
    return sites(POSTMARK_WEBHOOK_USER="u", POSTMARK_WEBHOOK_PASSWORD="p" * 20)


@pytest.fixture
def connect(site: ServedSite) -> Connect:
    parts = urlsplit(site.url)
    return lambda: socket.create_connection((str(parts.hostname), int(parts.port or 0)), PATIENCE_S)


def header(path: str, **more: str) -> bytes:
    form = "application/x-www-form-urlencoded"
    given = FROM_THE_PROXY | {"Content-Type": form, "Content-Length": str(ANNOUNCED)} | more
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


@contextmanager
def slow_clients(
    connect: Connect, sent: bytes, number: int = MANY
) -> Iterator[list[socket.socket]]:
    with ExitStack() as open_sockets:
        clients = []
        for _ in range(number):
            clients.append(open_sockets.enter_context(connect()))
            clients[-1].sendall(sent)
        yield clients


def answered(clients: list[socket.socket]) -> int:
    """Return how many clients got an answer or the end of their connection."""
    readable, _, _ = select.select(clients, [], [], 0)
    return len(readable)


def everything_from(client: socket.socket) -> bytes:
    answer = b""
    while piece := client.recv(65536):
        answer += piece
    return answer


def assert_site_answers(site: ServedSite) -> None:
    for path in PROBES * 5 + PAGES:
        assert site.get(path).status_code == 200, path


@pytest.mark.parametrize("path", READING)
def test_slow_forms_hold_no_thread(site: ServedSite, connect: Connect, path: str) -> None:
    with slow_clients(connect, header(path) + b"a=b") as clients:
        assert_site_answers(site)
        assert answered(clients) == 0


def test_length_with_leading_zeros_holds_no_thread(site: ServedSite, connect: Connect) -> None:
    zeros = header("/subscriptions/", **{"Content-Length": f"{ANNOUNCED:020}"})
    with slow_clients(connect, zeros + b"a=b") as clients:
        assert_site_answers(site)
        assert answered(clients) == 0


def test_clients_that_take_no_answer_hold_no_thread(site: ServedSite, connect: Connect) -> None:
    style_sheet = re.search(r'/static/homing[^"]*\.css', site.get("/archive/").text)
    assert style_sheet is not None
    asked = f"GET {style_sheet[0]} HTTP/1.1\r\nHost: {HOST}\r\nX-Forwarded-Proto: https\r\n\r\n"
    # Request more answers than the system buffers for a client.
    with slow_clients(connect, asked.encode() * 150, number=2 * MAX_CONCURRENT_REQUESTS):
        assert_site_answers(site)


def test_burst_of_visitors_is_answered(connect: Connect) -> None:
    asked = f"GET /archive/ HTTP/1.1\r\nHost: {HOST}\r\nX-Forwarded-Proto: https\r\n"
    with slow_clients(connect, f"{asked}Connection: close\r\n\r\n".encode(), BURST) as visitors:
        answers = [everything_from(visitor).split(b" ", 2)[1] for visitor in visitors]
    assert answers == [b"200"] * BURST


@pytest.mark.parametrize("path", REFUSING)
def test_refusals_do_not_wait_for_the_body(site: ServedSite, connect: Connect, path: str) -> None:
    with slow_clients(connect, header(path) + b"a=b") as clients:
        assert_site_answers(site)
        for client in clients:
            status, *headers = everything_from(client).partition(b"\r\n\r\n")[0].splitlines()
            assert status.split(b" ")[1] in {b"302", b"401", b"404"}
            assert b"Connection: close" in headers


@pytest.mark.parametrize("sent", [b"", header("/subscriptions/")[:40]], ids=["nothing", "half"])
def test_unfinished_headers_hold_no_thread(site: ServedSite, connect: Connect, sent: bytes) -> None:
    with slow_clients(connect, sent) as clients:
        assert_site_answers(site)
        assert answered(clients) == 0


@pytest.mark.parametrize("path", [READING[0], REFUSING[0]])
def test_slow_clients_of_the_proxy_hold_no_thread(
    site: ServedSite, tmp_path: Path, path: str
) -> None:
    with (
        running_proxy(int(site.url.rpartition(":")[2]), tmp_path) as connect,
        slow_clients(connect, header(path) + b"a=b"),
        connect() as visitor,
    ):
        visitor.sendall(f"GET /archive/ HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        assert b" 200 OK" in visitor.recv(65536)
        assert_site_answers(site)


def test_large_form_passes_slow_small_ones(site: ServedSite, connect: Connect) -> None:
    body = b"a" * (2 * IN_MEMORY)
    with slow_clients(connect, header("/subscriptions/") + b"a=b"), connect() as author:
        author.sendall(header("/subscriptions/", **{"Content-Length": str(len(body))}))
        author.sendall(body[:IN_MEMORY])
        author.sendall(body[IN_MEMORY:])
        # The form has no CSRF token: the 403 shows that the view ran after the whole body was read.
        assert b" 403 " in author.recv(65536)


def test_slow_requests_are_refused_in_the_end(connect: Connect) -> None:
    much = header("/subscriptions/", **{"Content-Length": "1000000"}) + b"a" * 1000
    with (
        slow_clients(connect, header("/subscriptions/") + b"a=b", 5) as small,
        slow_clients(connect, header("/api/v1/issues/")[:-2], 1) as (call,),
        slow_clients(connect, much, 5) as large,
    ):
        refused = everything_from(call)
        for client in (*small, *large):
            assert everything_from(client).split(b" ")[1] == b"408"
    assert refused.startswith(b"HTTP/1.1 408 ")
    assert b"application/problem+json" in refused
    assert b"urn:homing:problem:too-slow" in refused


def test_large_bodies_together_have_a_limit(sites: Sites) -> None:
    place = urlsplit(sites(IMPORT_MAX_MB="1").url)
    large = header("/subscriptions/", **{"Content-Length": "10000000"}) + b"a=b"
    with slow_clients(
        lambda: socket.create_connection((str(place.hostname), int(place.port or 0)), PATIENCE_S),
        large,
        number=3,
    ) as clients:
        # Only 22 MB may arrive at once, so one of the three clients is refused.
        [refused], _, _ = select.select(clients, [], [], PATIENCE_S)
        answer = everything_from(refused)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: 60" in answer


def test_two_requests_sent_at_once_get_two_answers(connect: Connect) -> None:
    with connect() as visitor:
        first = "GET /archive/ HTTP/1.1\r\nHost: letter.example.org\r\nX-Forwarded-Proto: https\r\n"
        visitor.sendall((f"{first}\r\n{first}Connection: close\r\n\r\n").encode())
        assert everything_from(visitor).count(b"HTTP/1.1 200 OK") == 2


def test_page_for_a_form_too_large_is_shown(site: ServedSite) -> None:
    # A browser sends the whole form before it reads the answer.
    answer = requests.post(
        f"{site.url}/subscriptions/",
        data=b"a" * 30_000_000,
        headers={**FROM_THE_PROXY, "Content-Type": "application/x-www-form-urlencoded"},
        timeout=PATIENCE_S,
    )
    assert answer.status_code == 413

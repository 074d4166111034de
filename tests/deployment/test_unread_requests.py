"""Requests that the web server or the proxy cannot read get our own answers."""

import json
import socket
import ssl
from collections.abc import Callable, Iterator
from urllib.parse import quote, urlsplit

import pytest

from api.problem import MEDIA_TYPE
from tests.deployment.conftest import Sites
from tests.deployment.deployed_processes import free_port, proxy, takes_connections, wait_until
from tests.deployment.served_site import FROM_THE_PROXY, PATIENCE_S, ServedSite
from tests.installed_programs import program

pytestmark = pytest.mark.django_db

CALL, PAGE = "/api/v1/past-issues/", "/archive/"
LONGEST = f"{CALL}?filename={quote('😀' * 255)}&site={quote('😀' * 300)}"
HOST = f"Host: {FROM_THE_PROXY['Host']}"
SECURE = "X-Forwarded-Proto: https"


@pytest.fixture(scope="module")
def site(sites: Sites) -> ServedSite:
    return sites(LOG_FORMAT="json")


def reply_to(line: socket.socket, request: bytes) -> tuple[int, str, str]:
    """Send raw bytes; return status, media type and body of the response."""
    with line:
        line.sendall(request)
        answer = b""
        while piece := line.recv(65536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(each.lower().split(": ", 1) for each in lines)
    return int(first.split()[1]), headers["content-type"], body.decode()


def request(target: str, *headers: str) -> bytes:
    lines = (f"GET {target} HTTP/1.1", HOST, SECURE, "Connection: close", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


UNREAD = [
    ("long", lambda path: request(f"{path}?q={'x' * 8190}"), 414, "address-too-long"),
    ("cookie", lambda path: request(path, f"Cookie: {'x' * 9000}"), 431, "headers-too-large"),
    ("fields", lambda path: request(path, *["X: y"] * 101), 431, "headers-too-large"),
    ("all", lambda path: request(path, *[f"X: {'y' * 8000}"] * 9), 431, "headers-too-large"),
    ("folded", lambda path: request(path, "X: y", " z"), 400, "not-readable"),
    ("version", lambda path: f"GET {path} HTTP/9.9\r\n\r\n".encode(), 400, "not-readable"),
    ("coding", lambda path: request(path, "Transfer-Encoding: x"), 400, "not-readable"),
]


@pytest.mark.parametrize(
    ("write", "status", "kind"), [case[1:] for case in UNREAD], ids=[case[0] for case in UNREAD]
)
def test_unread_request_gets_our_own_answer(
    site: ServedSite, write: Callable[[str], bytes], status: int, kind: str
) -> None:
    parts = urlsplit(site.url)
    answers = [
        reply_to(socket.create_connection((parts.hostname, parts.port), PATIENCE_S), write(path))
        for path in (CALL, PAGE)
    ]

    assert [answer[:2] for answer in answers] == [
        (status, MEDIA_TYPE),
        (status, "text/html; charset=utf-8"),
    ]
    problem = json.loads(answers[0][2])
    assert (problem["type"], problem["status"]) == (f"urn:homing:problem:{kind}", status)
    assert "<h1>This request could not be read</h1>" in answers[1][2]


def test_longest_allowed_parameters_reach_the_call(site: ServedSite) -> None:
    answer = site.get(LONGEST)
    assert (answer.status_code, answer.headers["Content-Type"]) == (405, MEDIA_TYPE)


@pytest.fixture(scope="module")
def through_nginx(
    site: ServedSite, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[int], Callable[[], socket.socket]]]:
    """Return a function that connects to nginx before the site with this port."""
    program("nginx", package="nginx")
    program("openssl", package="openssl")
    running = []

    def start(its_port: int) -> Callable[[], socket.socket]:
        port = free_port()
        nginx = proxy(port, [its_port], tmp_path_factory.mktemp("unread"))
        nginx.begin()
        running.append(nginx)
        wait_until(lambda: takes_connections(port) or not nginx.is_running, "nginx listens")
        assert nginx.is_running, nginx.last_lines()
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return lambda: context.wrap_socket(
            socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        )

    yield start
    for nginx in running:
        nginx.end()


def test_nginx_passes_long_addresses_and_headers_on(
    site: ServedSite, through_nginx: Callable[[int], Callable[[], socket.socket]]
) -> None:
    connect = through_nginx(urlsplit(site.url).port or 0)
    for name, write, status, kind in UNREAD[:2]:
        found, media_type, body = reply_to(connect(), write(CALL))
        assert (found, media_type) == (status, MEDIA_TYPE), name
        assert json.loads(body)["type"] == f"urn:homing:problem:{kind}"
    assert reply_to(connect(), request(LONGEST))[0] == 405


@pytest.mark.parametrize("call", ["/api/v1/issues/", CALL])
def test_nginx_answers_calls_with_problems_of_its_own(
    through_nginx: Callable[[int], Callable[[], socket.socket]], call: str
) -> None:
    connect = through_nginx(free_port())  # no site listens there
    too_large = request(call, f"Content-Length: {500 * 1024 * 1024}")
    # Only the file of an import may have 20 MB.
    file = request(call, f"Content-Length: {20 * 1024 * 1024}")
    for sent, status, kind in (
        (file, *((503, "not-available") if call == CALL else (413, "too-large"))),
        (request(call), 503, "not-available"),
        (too_large, 413, "too-large"),
    ):
        found, media_type, body = reply_to(connect(), sent)
        assert (found, media_type) == (status, MEDIA_TYPE)
        problem = json.loads(body)
        assert (problem["type"], problem["status"]) == (f"urn:homing:problem:{kind}", status)

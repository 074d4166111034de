"""Requests that the web server or the proxy cannot read get Homing's own answers."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from api.problem import MEDIA_TYPE
from tests.deployment.conftest import Sites
from tests.deployment.nginx_proxy import free_port, running_proxy
from tests.deployment.served_site import FROM_THE_PROXY, PATIENCE_S, ServedSite

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


def test_nginx_passes_long_addresses_and_headers_on(site: ServedSite, tmp_path: Path) -> None:
    with running_proxy(urlsplit(site.url).port or 0, tmp_path) as connect:
        for name, write, status, kind in UNREAD[:2]:
            found, media_type, body = reply_to(connect(), write(CALL))
            assert (found, media_type) == (status, MEDIA_TYPE), name
            assert json.loads(body)["type"] == f"urn:homing:problem:{kind}"
        assert reply_to(connect(), request(LONGEST))[0] == 405


def test_nginx_answers_calls_with_problems_of_its_own(tmp_path: Path) -> None:
    too_large, file = (f"Content-Length: {size * 1024 * 1024}" for size in (500, 20))
    other = "/api/v1/issues/"
    with running_proxy(free_port(), tmp_path) as connect:  # No site listens on this port.
        for sent, status, kind in (
            # Only the file of an import may have 20 MB.
            (request(CALL, file), 503, "not-available"),
            (request(other, file), 413, "too-large"),
            (request(other), 503, "not-available"),
            (request(other, too_large), 413, "too-large"),
            (request(CALL, too_large), 413, "too-large"),
        ):
            found, media_type, body = reply_to(connect(), sent)
            assert (found, media_type) == (status, MEDIA_TYPE)
            problem = json.loads(body)
            assert (problem["type"], problem["status"]) == (f"urn:homing:problem:{kind}", status)

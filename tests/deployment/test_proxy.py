"""nginx in front of a site, and the site's trust in its proxy."""

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from newsletter_site.serving.client_connection import IDLE_S
from tests.deployment.conftest import Sites
from tests.deployment.nginx_proxy import free_port, running_proxy
from tests.deployment.served_site import PATIENCE_S, ServedSite

pytestmark = pytest.mark.django_db

HOST = "letter.example.org"
Plainly = Callable[..., requests.Response]


@pytest.fixture(scope="module")
def plainly(sites: Sites, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plainly]:
    """Send a request to nginx, without TLS by default; do not follow redirects."""
    port, its_port = free_port(), int(sites().url.rpartition(":")[2])
    folder = tmp_path_factory.mktemp("proxy")
    with running_proxy(its_port, folder, plain_port=port) as connect:
        with connect() as line:
            tls_port = line.getpeername()[1]

        def ask(
            method: str, path: str, body: Any = None, *, tls: bool = False, **headers: str
        ) -> requests.Response:
            place = f"https://127.0.0.1:{tls_port}" if tls else f"http://127.0.0.1:{port}"
            return requests.request(
                method,
                place + path,
                data=body,
                headers={"Host": HOST, **headers},
                verify=str(folder / "fullchain.pem"),
                timeout=PATIENCE_S,
                allow_redirects=False,
            )

        yield ask


@pytest.mark.parametrize("size", [2, 30_000_000], ids=["small", "an import"])
def test_plain_http_api_call_is_refused_without_redirect(plainly: Plainly, size: int) -> None:
    answer = plainly(
        "POST",
        "/api/v1/imports/",
        b"a" * size,
        **{"Authorization": "Bearer homing_seen", "Content-Type": "text/csv"},
    )
    assert answer.status_code == 403
    assert answer.json()["type"] == "urn:homing:problem:use-https"
    assert "revoke it" in answer.json()["detail"]
    assert "Location" not in answer.headers


def test_one_click_unsubscribe_is_not_redirected(plainly: Plainly) -> None:
    answer = plainly("POST", "/unsubscribe/nobody/", {"List-Unsubscribe": "One-Click"})
    assert answer.status_code not in range(300, 400)


def test_page_is_redirected_to_the_same_address_with_tls(plainly: Plainly) -> None:
    answer = plainly("GET", "/archive/?page=2")
    assert (answer.status_code, answer.headers["Location"]) == (
        308,
        f"https://{HOST}/archive/?page=2",
    )


def test_page_and_form_are_served_over_tls(plainly: Plainly) -> None:
    page = plainly("GET", "/", tls=True)
    assert page.status_code == 200
    form = dict(re.findall(r'name="(csrfmiddlewaretoken|shown)" value="([^"]*)"', page.text))
    given = {"Origin": f"https://{HOST}", "Cookie": f"csrftoken={page.cookies['csrftoken']}"}

    # Use an invalid address, because a valid one would write to the database. If nginx lost the
    # host or the scheme, the answer would be 403.
    answer = plainly("POST", "/subscriptions/", form | {"email": "ada@"}, tls=True, **given)

    assert answer.status_code == 422
    assert "Enter an address such as ada@example.org." in answer.text


def test_nginx_closes_an_idle_connection_before_the_site_does(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as site,
        running_proxy(site.getsockname()[1], tmp_path) as connect,
        connect() as visitor,
    ):
        visitor.sendall(f"GET /unsubscribe/x/ HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        connection, _ = site.accept()
        with connection:
            connection.settimeout(IDLE_S)
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            assert b" 200 OK" in visitor.recv(65536)
            # If nginx kept the connection as long as the site does, `recv` would raise
            # TimeoutError.
            assert connection.recv(1) == b""


PAGE, CALL = "/archive/", "/api/v1/issues/"
SAID = ("X-Forwarded-Proto", "X-Forwarded-Protocol", "X-Forwarded-Ssl")


@pytest.fixture(scope="module")
def trusting(sites: Sites) -> ServedSite:
    return sites(TRUST_PROXY="on")


@pytest.fixture(scope="module")
def distrustful(sites: Sites) -> ServedSite:
    return sites(TRUST_PROXY="off")


def test_proxy_headers_are_ignored_without_a_trusted_proxy(distrustful: ServedSite) -> None:
    for name in SAID:
        given = {"X-Forwarded-Proto": "", name: "on" if name.endswith("Ssl") else "https"}
        answer = distrustful.get(PAGE, **given)
        assert answer.status_code == 301, name
        assert answer.headers["Location"] == f"https://letter.example.org{PAGE}"
    refused = distrustful.get(CALL)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:homing:problem:use-https")


def test_proxy_headers_of_a_trusted_proxy_are_used(trusting: ServedSite) -> None:
    assert trusting.get(PAGE).status_code == 200
    assert trusting.get(PAGE, **{"X-Forwarded-Proto": "http"}).status_code == 301
    assert trusting.get(CALL).status_code == 401


def test_script_name_header_cannot_move_the_site(
    trusting: ServedSite, distrustful: ServedSite
) -> None:
    for site in (trusting, distrustful):
        assert site.get("/health/live/", SCRIPT_NAME="/health").status_code == 200

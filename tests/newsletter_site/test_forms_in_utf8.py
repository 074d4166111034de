"""No name of a character set breaks a page, keeps a form from being read, or keeps a reader."""

from __future__ import annotations

import io
from collections.abc import Iterator
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_started
from django.db import close_old_connections

from newsletter_site.forms_in_utf8 import forms_in_utf8
from subscribers.models import ConsentRecord
from subscribers.unsubscribe_token import token_for
from tests.subscribers.factories import SubscriberFactory

pytestmark = pytest.mark.django_db

CHARSETS = ["iso-8859-1", "utf-16", "hex", "nonsense", '"hex"']
IN_PARTS = "multipart/form-data; charset={}; boundary=frontier"
AS_A_QUERY = "application/x-www-form-urlencoded; charset={}"


@pytest.fixture(autouse=True)
def _the_connection_of_the_test_stays() -> Iterator[None]:
    """As Django's own client does it; the transaction of a test would look obsolete."""
    request_started.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)


def part(name: str, value: str) -> str:
    return (
        f'--frontier\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        "--frontier--\r\n"
    )


def answer_to(method: str, address: str, kind: str, body: str) -> str:
    """The status of what the site as a whole answers, as a web server asks it."""
    path, _, query = address.partition("?")
    environ: dict[str, object] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "HTTP_HOST": "testserver",
        "CONTENT_TYPE": kind,
        "CONTENT_LENGTH": str(len(body.encode())),
        "wsgi.url_scheme": "https",
    }
    setup_testing_defaults(environ)
    environ["wsgi.input"] = io.BytesIO(body.encode())
    statuses: list[str] = []
    answer = forms_in_utf8(WSGIHandler())(environ, lambda status, *_: statuses.append(status))
    b"".join(answer)
    return statuses[0][:3]


@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize(
    ("kind", "body"),
    [(AS_A_QUERY, "List-Unsubscribe=One-Click"), (IN_PARTS, part("List-Unsubscribe", "One-Click"))],
)
def test_one_click_is_understood(kind: str, body: str, charset: str) -> None:
    reader = SubscriberFactory()
    link = f"/unsubscribe/{token_for(reader.pk)}/?from=a-mail-program"
    assert answer_to("POST", link, kind.format(charset), body) == "200"
    assert ConsentRecord.objects.get(subscriber=reader).how == "one-click"


@pytest.mark.parametrize("charset", CHARSETS)
def test_no_page_breaks(charset: str) -> None:
    for address in ("/subscriptions/?a=1", "/archive/?page=1", "/nowhere/?a=1"):
        for kind, body in ((AS_A_QUERY, "a=1"), (IN_PARTS, part("a", "é"))):
            for method in ("GET", "POST"):
                status = answer_to(method, address, kind.format(charset), body)
                assert status in {"200", "403", "404", "405"}, (method, address, kind)

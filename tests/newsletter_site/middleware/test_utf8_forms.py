"""Forms work with any declared charset, and unrequested files are not stored."""

import io
from collections.abc import Iterator
from pathlib import Path
from wsgiref.util import setup_testing_defaults

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_started
from django.db import close_old_connections

from newsletter_site.middleware.wsgi_wrappers import ignore_charset
from subscribers.links.unsubscribe_token import token_for
from subscribers.models import ConsentRecord, Subscriber
from tests.subscribers.factories import SubscriberFactory
from tests.subscribers.signup_browser import visitor

pytestmark = pytest.mark.django_db

CHARSETS = ["iso-8859-1", "utf-16", "hex", "nonsense", '"hex"']
IN_PARTS = "multipart/form-data; charset={}; boundary=frontier"
AS_A_QUERY = "application/x-www-form-urlencoded; charset={}"


@pytest.fixture(autouse=True)
def _the_connection_of_the_test_stays() -> Iterator[None]:
    """Keep the test's connection, which Django would close as too old."""
    request_started.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)


def part(name: str, value: str) -> str:
    return (
        f'--frontier\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        "--frontier--\r\n"
    )


def answer_to(method: str, address: str, kind: str, body: str) -> str:
    """Call the WSGI application as a web server does, and return the status."""
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
    answer = ignore_charset(WSGIHandler())(environ, lambda status, *_: statuses.append(status))
    b"".join(answer)
    return statuses[0][:3]


@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize(
    ("kind", "body"),
    [(AS_A_QUERY, "List-Unsubscribe=One-Click"), (IN_PARTS, part("List-Unsubscribe", "One-Click"))],
)
def test_one_click_works_with_any_charset(kind: str, body: str, charset: str) -> None:
    reader = SubscriberFactory()
    link = f"/unsubscribe/{token_for(reader.pk)}/?from=a-mail-program"
    assert answer_to("POST", link, kind.format(charset), body) == "200"
    assert ConsentRecord.objects.get(subscriber=reader).how == "one-click"


@pytest.mark.parametrize("charset", CHARSETS)
def test_pages_answer_with_any_charset(charset: str) -> None:
    for address in ("/subscriptions/?a=1", "/archive/?page=1", "/nowhere/?a=1"):
        for kind, body in ((AS_A_QUERY, "a=1"), (IN_PARTS, part("a", "é"))):
            for method in ("GET", "POST"):
                status = answer_to(method, address, kind.format(charset), body)
                assert status in {"200", "403", "404", "405"}, (method, address, kind)


# Django keeps smaller files in memory.
TOO_LARGE_FOR_MEMORY = 3 * 1024 * 1024


@pytest.fixture(autouse=True)
def _no_file_can_be_written(settings: LazySettings, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "not there")


@pytest.mark.parametrize("page", ["/subscriptions/", "/subscriptions/embedded/", "/record/"])
def test_a_large_file_in_a_form_is_skipped(page: str) -> None:
    file = SimpleUploadedFile("film.mp4", b"\0" * TOO_LARGE_FOR_MEMORY)
    answer = visitor().post(page, {"file": file, "email": "ada@example.org", "name": "Ada"})
    assert answer.status_code == 200
    assert not answer.wsgi_request.FILES
    if page == "/subscriptions/":
        assert Subscriber.objects.get().email == "ada@example.org"

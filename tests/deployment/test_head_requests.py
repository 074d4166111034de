"""HEAD requests of monitors: headers, no body, and no warning in the log."""

import json
from collections.abc import Iterator

import pytest

from newsletter_site.middleware.wsgi_wrappers import drop_head_bodies
from tests.deployment.served_site import served_site

PLAIN = {"Accept-Encoding": "identity"}


@pytest.mark.django_db(transaction=True)
def test_head_has_the_length_and_logs_no_warning(
    database_url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with served_site(database_url) as site:
        # Request pages first, because a probe does not wait until the site has its first database
        # connection.
        for path in ("/archive/", "/api/v1/openapi.json", "/health/live/", "/health/ready/"):
            # The length of a compressed page varies.
            read, asked = site.get(path, **PLAIN), site.head(path, **PLAIN)
            assert (asked.status_code, asked.content) == (read.status_code, b"")
            assert read.status_code == 200
            assert asked.headers.get("Content-Length") == read.headers.get("Content-Length")
            if path == "/archive/":
                assert asked.headers["Content-Length"] == str(len(read.content))
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert any("was answered 200" in line["event"] for line in lines)
    loud = [line for line in lines if line["level"] not in {"debug", "info"}]
    # Static files are not collected here, and WhiteNoise warns about that.
    assert [line["event"] for line in loud if line["logger"] != "py.warnings"] == []


def test_head_closes_the_response_without_its_body() -> None:
    ended: list[str] = []

    class Answer:
        def __iter__(self) -> Iterator[bytes]:
            ended.append("read")
            yield b"body"

        def close(self) -> None:
            ended.append("closed")

    answer = drop_head_bodies(lambda *_: Answer())({"REQUEST_METHOD": "HEAD"}, print)
    assert list(answer) == []
    assert ended == ["closed"]

    # This response has no method `close`.
    answer = drop_head_bodies(lambda *_: [b"body"])({"REQUEST_METHOD": "HEAD"}, print)
    assert list(answer) == []
    read = drop_head_bodies(lambda *_: [b"body"])({"REQUEST_METHOD": "GET"}, print)
    assert list(read) == [b"body"]

"""A suppression list is one answer, however many it names: read whole, and never held whole."""

from __future__ import annotations

import resource
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pytest
from django.db import connection

from delivery import polling
from delivery.models import Errand, ProviderEvent
from delivery.postmark import LONGEST_ANSWER_BYTES
from subscribers.models import Suppression
from tests.delivery.http_answers import http
from tests.delivery.newsroom import Newsroom, never
from tests.delivery.scripted_server import Conversation, Script, ScriptedServer

KNOWN = 55_000
# Of the longest that an address may be, so that fewer of them are enough.
DOMAIN = ".".join(["d" * 63] * 3)
# At its beginning, in its middle and at its end.
NEW = (0, KNOWN // 2, KNOWN + 2)
MEMORY_BYTES = 8 * 1024 * 1024


@pytest.fixture
def known(newsroom: Newsroom) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO provider_suppression (address_key, stream, refuses, reason, origin, at)
            SELECT 'known' || number || '@' || %s, 'broadcast', true, 'HardBounce',
                   'Recipient', '2026-04-01T08:58:33-04:00'
            FROM generate_series(0, %s) AS number
            """,
            [DOMAIN, KNOWN - 1],
        )


@contextmanager
def provider(settings: Any, dump: Callable[[Conversation], None], walks: int) -> Iterator[Any]:
    """A provider without bounces, and with this suppression list on the broadcast stream."""

    def broadcast(talk: Conversation) -> None:
        while request := talk.read_request():
            if b"/dump" in request:
                dump(talk)
                return
            talk.write(http("200 OK", b'{"TotalCount": 0, "Bounces": []}'))

    def outbound(talk: Conversation) -> None:
        while talk.read_request():
            empty = b'{"Suppressions": [], "TotalCount": 0, "Bounces": []}'
            talk.write(http("200 OK", empty))

    scripts: list[Script] = [broadcast, outbound] * walks
    with ScriptedServer(*scripts) as server:
        settings.POSTMARK_BASE_URL = server.url
        # A machine that is busy may take long; none of these waits for it.
        settings.DELIVERY_HTTP_DEADLINE_S = 60.0
        yield server


def pieces() -> Iterator[bytes]:
    """A list of 17 MB: three that nobody told of, among 55,000 that are known."""
    known = iter(range(KNOWN))
    entries = (
        b'%s{"EmailAddress":"%s","SuppressionReason":"HardBounce",'
        b'"Origin":"Recipient","CreatedAt":"2026-04-01T08:58:33-04:00"}'
        % (b"," if place else b'{"Suppressions":[', f"{who}@{DOMAIN}".encode())
        for place, who in (
            (place, f"new{place}" if place in NEW else f"known{next(known)}")
            for place in range(KNOWN + len(NEW))
        )
    )
    while piece := b"".join(islice(entries, 1000)):
        yield piece
    yield b"]}"


def chunked(talk: Conversation, content: Iterable[bytes]) -> None:
    """An answer that does not say its length beforehand; its end is left open."""
    talk.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for piece in content:
        talk.write(b"%x\r\n%s\r\n" % (len(piece), piece))


def whole(talk: Conversation) -> None:
    chunked(talk, pieces())
    talk.write(b"0\r\n\r\n")


def broken_off(talk: Conversation) -> None:
    """Some of it, and then the line is cut."""
    chunked(talk, islice(pieces(), 3))


def endless(talk: Conversation) -> None:
    chunked(talk, (b" " * 1024 * 1024 for _ in range(256)))


def broadcast() -> Errand:
    return Errand.objects.get(name="poll broadcast")


def as_never_asked() -> None:
    Errand.objects.update(due_at="2000-01-01T00:00:00Z", through_at=None)


def shut_out() -> list[str]:
    return sorted(Suppression.objects.values_list("address_key", flat=True))


ALL_NEW = sorted(f"new{place}@{DOMAIN}" for place in NEW)


def test_a_list_longer_than_any_other_answer_is_taken_in_and_never_held_whole(
    known: None, settings: Any
) -> None:
    assert sum(map(len, pieces())) > LONGEST_ANSWER_BYTES
    with provider(settings, broken_off, walks=1):
        polling.poll(never)
    assert (broadcast().failures, broadcast().through_at, broadcast().owner) == (1, None, None)
    assert "broke" in broadcast().said

    # It is asked for again, from its beginning, and nothing of it is kept twice.
    as_never_asked()
    with provider(settings, whole, walks=1):
        tracemalloc.start()
        try:
            polling.poll(never)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < MEMORY_BYTES
    assert shut_out() == ALL_NEW
    assert broadcast().through_at is not None
    assert (broadcast().failures, ProviderEvent.objects.count()) == (0, len(NEW))


def test_a_worker_that_is_to_stop_does_not_wait_for_the_end_of_a_list(
    newsroom: Newsroom, settings: Any
) -> None:
    with provider(settings, endless, walks=1) as server:
        polling.poll(lambda: b"/dump" in server.received)
        assert server.was_cut_off.wait(20)
    assert (broadcast().failures, broadcast().through_at, broadcast().owner) == (0, None, None)


def test_a_list_for_which_there_is_no_room_is_said_to_have_none(
    newsroom: Newsroom, settings: Any
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with provider(settings, endless, walks=1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 * 1024 * 1024, hard))
        try:
            polling.poll(never)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert broadcast().failures == 1
    assert broadcast().said == (
        "The suppression list could not be put into the folder for temporary files: File too large."
    )

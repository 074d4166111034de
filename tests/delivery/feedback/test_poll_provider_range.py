"""Where a poll of the provider begins, how much it reads, and where it ends."""

import re
import resource
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from django.core.management.base import OutputWrapper
from django.db import connection
from django.db.models.functions import Now

from delivery.feedback import poll_provider
from delivery.models import PeriodicTask, ProviderEvent
from delivery.postmark.client import MAX_SEARCH_RESULTS, PAGE_SIZE
from delivery.postmark.search_windows import to_eastern
from delivery.provider.http_connection import MAX_RESPONSE_BYTES
from delivery.rules.reason import Reason, ReasonCode
from delivery.worker.drain import Drain
from delivery.worker.worker_process import Worker
from subscribers.models import Suppression
from tests.delivery.edition_factory import Newsroom, never
from tests.delivery.http_responses import http
from tests.delivery.scripted_http_server import Conversation, ScriptedServer

NOTHING = b'{"Suppressions": [], "TotalCount": 0, "Bounces": []}'
AT = datetime(2026, 5, 4, 14, 0, tzinfo=UTC)
Query = dict[str, str]
Answer = Callable[[Query], bytes]
Dump = Callable[[Query], bytes | Iterable[bytes]]


@pytest.fixture(autouse=True)
def one_stream(newsroom: Newsroom, settings: Any) -> None:
    """Send both kinds of mail over one stream, so that one poll reads all entries."""
    settings.TRANSACTIONAL_STREAM = settings.BROADCAST_STREAM


class Asked:
    server: ScriptedServer

    def __init__(self) -> None:
        self.bounces: list[Query] = []
        self.dumps: list[Query] = []


@contextmanager
def provider(
    settings: Any,
    *,
    bounces: Answer = lambda _: http("200 OK", NOTHING),
    dump: Dump = lambda _: http("200 OK", NOTHING),
    walks: int = 1,
) -> Iterator[Asked]:
    """Run a provider whose two lists give these answers."""
    asked = Asked()

    def script(talk: Conversation) -> None:
        while request := talk.read_request():
            url = urlsplit(request.split(b" ")[1].decode())
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            if url.path.endswith("/dump"):
                asked.dumps.append(query)
                answer = dump(query)
                if not isinstance(answer, bytes):
                    # Send the answer in pieces, and then cut the connection.
                    for piece in answer:
                        talk.write(piece)
                    return
                talk.write(answer)
            else:
                asked.bounces.append(query)
                talk.write(bounces(query))

    with ScriptedServer(*[script] * walks) as server:
        settings.POSTMARK_BASE_URL, asked.server = server.url, server
        # Allow a long deadline, because a busy machine may be slow.
        settings.DELIVERY_HTTP_DEADLINE_S = max(60.0, settings.DELIVERY_HTTP_DEADLINE_S)
        yield asked


def task() -> PeriodicTask:
    return PeriodicTask.objects.get(name="poll broadcast")


def due_again() -> None:
    PeriodicTask.objects.update(due_at="2000-01-01T00:00:00Z")


def bounce(number: int, at: datetime = AT) -> dict[str, object]:
    return {
        "ID": number,
        "Type": "SoftBounce",
        "Email": f"somebody{number}@example.net",
        "BouncedAt": at.isoformat(),
    }


def page(total: int, *bounces: dict[str, object]) -> bytes:
    return http("200 OK", orjson.dumps({"TotalCount": total, "Bounces": bounces}))


def entry(address: str, **other: object) -> dict[str, object]:
    return {
        "EmailAddress": address,
        "SuppressionReason": "HardBounce",
        "Origin": "Recipient",
        "CreatedAt": AT.isoformat(),
        **other,
    }


def listing(*entries: dict[str, object]) -> bytes:
    return http("200 OK", orjson.dumps({"Suppressions": entries}))


def know(addresses: Iterable[str]) -> None:
    """Record that the provider suppresses these addresses."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO provider_suppression (address_key, stream, refuses, reason, origin, at)
            SELECT address, 'broadcast', true, 'HardBounce', 'Recipient', %s
            FROM unnest(%s::text[]) AS address
            """,
            [AT, list(addresses)],
        )


def test_first_poll_covers_all_that_the_provider_keeps(settings: Any) -> None:
    with provider(settings) as asked:
        poll_provider.poll(never)
    oldest = task().started_at - timedelta(days=settings.POSTMARK_RETENTION_DAYS)
    assert datetime.fromisoformat(asked.bounces[0]["fromdate"]) < to_eastern(oldest)
    assert asked.dumps == [{}]


def test_later_polls_overlap_the_previous_one_slightly(settings: Any) -> None:
    with provider(settings, walks=2) as asked:
        poll_provider.poll(never)
        last_success_at = task().last_success_at
        assert last_success_at is not None
        due_again()
        poll_provider.poll(never)
    since = datetime.fromisoformat(asked.bounces[1]["fromdate"])
    # The poll begins an hour earlier, because clocks may differ and entries may appear late in the
    # provider's lists.
    assert since <= to_eastern(last_success_at - timedelta(hours=1))
    assert since >= to_eastern(last_success_at - timedelta(days=1))
    day = datetime.fromisoformat(asked.dumps[1]["fromdate"])
    # The poll begins a day earlier, because a date means a whole day in a time zone that may differ
    # from ours.
    assert day <= to_eastern(last_success_at - timedelta(days=1))
    assert day >= to_eastern(last_success_at - timedelta(days=4))


def test_results_beyond_the_search_limit_are_read_by_earlier_times(settings: Any) -> None:
    """A search shows at most 10,000 results, and this list has one more."""

    def bounces(query: Query) -> bytes:
        offset = int(query["offset"])
        assert offset + PAGE_SIZE <= MAX_SEARCH_RESULTS
        if "todate" in query:
            return page(1, bounce(99, AT - timedelta(days=1)))
        return page(MAX_SEARCH_RESULTS + 1, bounce(offset + 1, AT - timedelta(seconds=offset)))

    with provider(settings, bounces=bounces) as asked:
        poll_provider.poll(never)
    pages = MAX_SEARCH_RESULTS // PAGE_SIZE
    assert [query["offset"] for query in asked.bounces] == [
        *(str(PAGE_SIZE * number) for number in range(pages)),
        "0",
    ]
    last_shown = AT - timedelta(seconds=MAX_SEARCH_RESULTS - PAGE_SIZE)
    until = datetime.fromisoformat(asked.bounces[-1]["todate"])
    assert to_eastern(last_shown) <= until <= to_eastern(last_shown + timedelta(seconds=2))
    assert ProviderEvent.objects.count() == pages + 1
    assert task().last_success_at is not None


@pytest.mark.parametrize("at", [AT, None])
def test_hidden_bounces_of_one_second_are_reported(settings: Any, at: datetime | None) -> None:
    def bounces(query: Query) -> bytes:
        one = bounce(1) if at else bounce(1) | {"BouncedAt": "soon"}
        # After 100 requests the list is empty, so that an endless poll ends and fails the test.
        return page(MAX_SEARCH_RESULTS + 1, one) if len(asked.bounces) < 100 else page(0)

    with provider(settings, bounces=bounces) as asked:
        poll_provider.poll(never)
    assert len(asked.bounces) <= 2 * MAX_SEARCH_RESULTS // PAGE_SIZE
    assert Reason.loads(task().last_error) == Reason.of(
        ReasonCode.QUERY_INCOMPLETE, subject="bounces"
    )
    assert task().last_success_at is None


def test_the_next_poll_waits_for_retry_after(settings: Any) -> None:
    with provider(settings, dump=lambda _: http("429 Slow down", b"{}", "Retry-After: 3000")):
        poll_provider.poll(never)
    assert PeriodicTask.objects.filter(due_at__gt=Now() + timedelta(seconds=2000)).exists()


def test_a_worker_that_lost_its_lease_stores_no_more_events(settings: Any) -> None:
    known = [f"known{number}@example.net" for number in range(PAGE_SIZE)]
    know(known)

    def dump(query: Query) -> bytes:
        try:
            PeriodicTask.objects.update(owner="00000000-0000-0000-0000-000000000001")
        finally:
            connection.close()
        return listing(*map(entry, known), entry("new@example.net"))

    with provider(settings, dump=dump):
        poll_provider.poll(never)
    assert not ProviderEvent.objects.exists()
    assert str(task().owner).endswith("1")


def test_entry_without_a_time_is_skipped(settings: Any) -> None:
    """An entry without a time cannot be compared, so it would seem new each time."""
    with provider(settings, dump=lambda _: listing(entry("ada@example.net", CreatedAt=None))):
        poll_provider.poll(never)
    assert not ProviderEvent.objects.exists()
    assert task().last_success_at is not None


def test_stopping_worker_leaves_stored_events_to_others(settings: Any) -> None:
    applied = ProviderEvent.objects.filter(applied_at__isnull=False)
    three = listing(*(entry(f"somebody{number}@example.net") for number in range(3)))
    with provider(settings, dump=lambda _: three):
        poll_provider.poll(applied.exists)
    assert (applied.count(), ProviderEvent.objects.count()) == (1, 3)
    assert (task().owner, task().last_success_at, task().failures) == (None, None, 0)


def test_lease_is_extended_while_a_list_is_read(settings: Any) -> None:
    settings.DELIVERY_HTTP_DEADLINE_S = 600.0
    is_held: list[bool] = []

    def dump(query: Query) -> bytes:
        try:
            held = PeriodicTask.objects.filter(lease_until__gt=Now() + timedelta(seconds=600))
            is_held.append(held.exists())
        finally:
            connection.close()
        return listing()

    with provider(settings, dump=dump):
        poll_provider.poll(never)
    assert is_held == [True]


KNOWN = 3_500
# The value of a field that Homing does not read. The value is long, so that a few entries make a
# long list.
NOTE = b"n" * 5_000
# The positions of the new entries: at the beginning, in the middle and at the end of the list.
NEW = (0, KNOWN // 2, KNOWN + 2)
MEMORY_BYTES = 8 * 1024 * 1024


@pytest.fixture
def known(newsroom: Newsroom) -> None:
    know(f"known{number}@example.net" for number in range(KNOWN))


def pieces() -> Iterator[bytes]:
    """Write a list of 17 MB: three new entries among 3,500 known ones."""
    known, at = iter(range(KNOWN)), AT.isoformat().encode()
    entries = (
        b'%s{"EmailAddress":"%s@example.net","SuppressionReason":"HardBounce",'
        b'"Origin":"Recipient","CreatedAt":"%s","Note":"%s"}'
        % (b"," if place else b'{"Suppressions":[', who.encode(), at, NOTE)
        for place, who in (
            (place, f"new{place}" if place in NEW else f"known{next(known)}")
            for place in range(KNOWN + len(NEW))
        )
    )
    while piece := b"".join(islice(entries, 100)):
        yield piece
    yield b"]}"


def chunked(content: Iterable[bytes]) -> Iterator[bytes]:
    """Write a chunked answer that is never finished."""
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for piece in content:
        yield b"%x\r\n%s\r\n" % (len(piece), piece)


def endless(query: Query) -> Iterator[bytes]:
    return chunked(b" " * 1024 * 1024 for _ in range(256))


def memory_bytes(field: str) -> int:
    """Read this process's memory from Linux: now (VmRSS), or the peak (VmHWM)."""
    [line] = re.findall(rf"^{field}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    return int(line) * 1024


ALL_NEW = sorted(f"new{place}@example.net" for place in NEW)


def test_a_long_list_is_stored_without_holding_it_in_memory(known: None, settings: Any) -> None:
    assert sum(map(len, pieces())) > MAX_RESPONSE_BYTES
    with provider(settings, dump=lambda _: chunked(islice(pieces(), 3))):
        poll_provider.poll(never)
    assert (task().failures, task().last_success_at, task().owner) == (1, None, None)
    assert "broke" in task().last_error

    # The list is read again from its beginning, and no event is stored twice.
    PeriodicTask.objects.update(due_at="2000-01-01T00:00:00Z", last_success_at=None)
    with provider(settings, dump=lambda _: chain(chunked(pieces()), [b"0\r\n\r\n"])):
        # Reset the peak of this process (proc(5)).
        Path("/proc/self/clear_refs").write_text("5")
        before = memory_bytes("VmRSS")
        poll_provider.poll(never)
        assert memory_bytes("VmHWM") - before < MEMORY_BYTES
    assert sorted(Suppression.objects.values_list("address_key", flat=True)) == ALL_NEW
    assert task().last_success_at is not None
    assert (task().failures, ProviderEvent.objects.count()) == (0, len(NEW))


def test_stopping_worker_does_not_finish_a_list(settings: Any) -> None:
    with provider(settings, dump=endless) as asked:
        poll_provider.poll(lambda: bool(asked.dumps))
        assert asked.server.was_cut_off.wait(20)
    assert (task().failures, task().last_success_at, task().owner) == (0, None, None)


def test_until_empty_waits_for_a_running_poll(settings: Any) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()
    watch = Drain(OutputWrapper(StringIO()), is_terminal=False)
    ends: list[bool] = []

    def dump(query: Query) -> bytes:
        is_asked.set()
        may_answer.wait(60)
        return listing(entry("somebody@example.net"))

    def until() -> bool:
        if is_asked.is_set():
            ends.append(watch.is_drained())
            may_answer.set()
        return ends[-1:] == [True]

    with provider(settings, dump=dump):
        Worker(1, is_awaited=True).run(until=until)
    assert ends[0] is False
    assert (task().failures, task().owner) == (0, None)
    assert task().last_success_at is not None
    assert Suppression.objects.filter(address_key="somebody@example.net").exists()


def test_full_temporary_folder_is_the_stated_reason(settings: Any) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with provider(settings, dump=endless):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 * 1024 * 1024, hard))
        try:
            poll_provider.poll(never)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert task().failures == 1
    assert Reason.loads(task().last_error) == Reason.of(
        ReasonCode.NO_ROOM_FOR_LIST, error="File too large"
    )

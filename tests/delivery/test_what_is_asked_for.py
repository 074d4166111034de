"""What a walk over the provider's lists asks for: from when on, how much of it, and how far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from django.db import connection
from django.db.models.functions import Now

from delivery import polling
from delivery.models import Errand, ProviderEvent
from delivery.postmark import LONGEST_SEARCH, PAGE
from delivery.reconciliation_windows import eastern
from tests.delivery.http_answers import http
from tests.delivery.newsroom import Newsroom, never
from tests.delivery.scripted_server import Conversation, ScriptedServer

NOTHING = b'{"Suppressions": [], "TotalCount": 0, "Bounces": []}'
AT = datetime(2026, 5, 4, 14, 0, tzinfo=UTC)
Query = dict[str, str]
Answer = Callable[[Query], bytes]


@pytest.fixture(autouse=True)
def one_stream(newsroom: Newsroom, settings: Any) -> None:
    """Both kinds of mail go over one stream, so that one walk is all there is."""
    settings.POSTMARK_TRANSACTIONAL_STREAM = settings.POSTMARK_BROADCAST_STREAM


class Asked:
    def __init__(self) -> None:
        self.bounces: list[Query] = []
        self.dumps: list[Query] = []


@contextmanager
def provider(
    settings: Any,
    *,
    bounces: Answer = lambda _: http("200 OK", NOTHING),
    dump: Answer = lambda _: http("200 OK", NOTHING),
    walks: int = 1,
) -> Iterator[Asked]:
    """A provider whose two lists answer so."""
    asked = Asked()

    def script(talk: Conversation) -> None:
        while request := talk.read_request():
            url = urlsplit(request.split(b" ")[1].decode())
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            if url.path.endswith("/dump"):
                asked.dumps.append(query)
                talk.write(dump(query))
            else:
                asked.bounces.append(query)
                talk.write(bounces(query))

    with ScriptedServer(*[script] * walks) as server:
        settings.POSTMARK_BASE_URL = server.url
        yield asked


def errand() -> Errand:
    return Errand.objects.get(name="poll broadcast")


def due_again() -> None:
    Errand.objects.update(due_at="2000-01-01T00:00:00Z")


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


def test_the_first_time_all_is_asked_for_that_the_provider_remembers(settings: Any) -> None:
    with provider(settings) as asked:
        polling.poll(never)
    oldest = errand().started_at - timedelta(days=settings.POSTMARK_RETENTION_DAYS)
    assert datetime.fromisoformat(asked.bounces[0]["fromdate"]) < eastern(oldest)
    assert asked.dumps == [{}]


def test_after_that_what_came_since_is_asked_for_and_a_little_of_before(settings: Any) -> None:
    with provider(settings, walks=2) as asked:
        polling.poll(never)
        through_at = errand().through_at
        assert through_at is not None
        due_again()
        polling.poll(never)
    since = datetime.fromisoformat(asked.bounces[1]["fromdate"])
    # Their clock beside ours, and what came onto their lists late.
    assert since <= eastern(through_at - timedelta(hours=1))
    assert since >= eastern(through_at - timedelta(days=1))
    day = datetime.fromisoformat(asked.dumps[1]["fromdate"])
    # A date is a whole day of a zone that need not be ours.
    assert day <= eastern(through_at - timedelta(days=1))
    assert day >= eastern(through_at - timedelta(days=4))


def test_what_a_search_does_not_show_is_asked_for_by_an_earlier_time(settings: Any) -> None:
    """It shows ten thousand; here it has one more."""

    def bounces(query: Query) -> bytes:
        offset = int(query["offset"])
        assert offset + PAGE <= LONGEST_SEARCH
        if "todate" in query:
            return page(1, bounce(99, AT - timedelta(days=1)))
        return page(LONGEST_SEARCH + 1, bounce(offset + 1, AT - timedelta(seconds=offset)))

    with provider(settings, bounces=bounces) as asked:
        polling.poll(never)
    pages = LONGEST_SEARCH // PAGE
    assert [query["offset"] for query in asked.bounces] == [
        *(str(PAGE * number) for number in range(pages)),
        "0",
    ]
    last_shown = AT - timedelta(seconds=LONGEST_SEARCH - PAGE)
    until = datetime.fromisoformat(asked.bounces[-1]["todate"])
    assert eastern(last_shown) <= until <= eastern(last_shown + timedelta(seconds=2))
    assert ProviderEvent.objects.count() == pages + 1
    assert errand().through_at is not None


@pytest.mark.parametrize("at", [AT, None])
def test_more_bounces_of_one_second_than_a_search_shows_are_said(
    settings: Any, at: datetime | None
) -> None:
    def bounces(query: Query) -> bytes:
        one = bounce(1) if at else bounce(1) | {"BouncedAt": "soon"}
        # A walk that comes to no end by itself is ended here, and has failed the test.
        return page(LONGEST_SEARCH + 1, one) if len(asked.bounces) < 100 else page(0)

    with provider(settings, bounces=bounces) as asked:
        polling.poll(never)
    assert len(asked.bounces) <= 2 * LONGEST_SEARCH // PAGE
    assert errand().said == "Postmark lists more bounces of one second than it shows."
    assert errand().through_at is None


def test_it_comes_back_when_the_provider_says_so(settings: Any) -> None:
    with provider(settings, dump=lambda _: http("429 Slow down", b"{}", "Retry-After: 3000")):
        polling.poll(never)
    assert Errand.objects.filter(due_at__gt=Now() + timedelta(seconds=2000)).exists()


def test_a_worker_that_lost_its_errand_takes_nothing_more_in(settings: Any) -> None:
    known = [f"known{number}@example.net" for number in range(PAGE)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO provider_suppression (address_key, stream, refuses, reason, origin, at)
            SELECT address, 'broadcast', true, 'HardBounce', 'Recipient', %s
            FROM unnest(%s::text[]) AS address
            """,
            [AT, known],
        )

    def dump(query: Query) -> bytes:
        try:
            Errand.objects.update(owner="00000000-0000-0000-0000-000000000001")
        finally:
            connection.close()
        return listing(*map(entry, known), entry("new@example.net"))

    with provider(settings, dump=dump):
        polling.poll(never)
    assert not ProviderEvent.objects.exists()
    assert str(errand().owner).endswith("1")


def test_an_entry_that_does_not_say_since_when_is_passed_over(settings: Any) -> None:
    """It could not be told from what is known, and would be news whenever it is read."""
    with provider(settings, dump=lambda _: listing(entry("ada@example.net", CreatedAt=None))):
        polling.poll(never)
    assert not ProviderEvent.objects.exists()
    assert errand().through_at is not None


def test_a_worker_that_is_to_stop_leaves_what_is_kept_to_the_chores(settings: Any) -> None:
    applied = ProviderEvent.objects.filter(applied_at__isnull=False)
    three = listing(*(entry(f"somebody{number}@example.net") for number in range(3)))
    with provider(settings, dump=lambda _: three):
        polling.poll(applied.exists)
    assert (applied.count(), ProviderEvent.objects.count()) == (1, 3)
    assert (errand().owner, errand().through_at, errand().failures) == (None, None, 0)


def test_while_a_list_is_read_nobody_else_takes_the_errand(settings: Any) -> None:
    settings.DELIVERY_HTTP_DEADLINE_S = 600.0
    is_held: list[bool] = []

    def dump(query: Query) -> bytes:
        try:
            held = Errand.objects.filter(lease_until__gt=Now() + timedelta(seconds=600))
            is_held.append(held.exists())
        finally:
            connection.close()
        return listing()

    with provider(settings, dump=dump):
        polling.poll(never)
    assert is_held == [True]

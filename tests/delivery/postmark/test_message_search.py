"""The client's search for accepted messages, and its pages."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from delivery.postmark.classify_responses import (
    SEARCH,
    SearchPage,
    parse_query,
    parse_search,
)
from delivery.postmark.client import Postmark
from delivery.provider.deadline_clock import now_s
from delivery.provider.http_connection import RawResponse
from delivery.rules.call_results import FoundMessage, LookupResult, SearchAnswered, SearchFailed
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.http_responses import Pages, http
from tests.delivery.postmark_responses import JSON, body, error, listed, message_id
from tests.delivery.scripted_http_server import ScriptedServer


@pytest.fixture
def provider() -> Pages:
    return Pages()


@pytest.fixture
def client(provider: Pages) -> Iterator[Postmark]:
    with ScriptedServer(provider) as server:
        made = Postmark(server.url, "secret-token", deadline_s=20.0)
        yield made
        made.close()


def soon(seconds: float = 20.0) -> float:
    return now_s() + seconds


def numbers_on(first: int, last: int) -> list[dict[str, object]]:
    return [listed(number) for number in range(first, last + 1)]


def answer_with(provider: Pages, total: int, *pages: list[Any]) -> None:
    for page in pages:
        provider.pages.append(http("200 OK", body({"TotalCount": total, "Messages": page})))


def search(client: Postmark) -> LookupResult:
    return client.search("attempt", "a77e", stream="broadcast", deadline_at_s=soon())


def queries(provider: Pages) -> list[dict[str, list[str]]]:
    return [parse_qs(urlsplit(path).query) for path in provider.paths]


def keys(answer: LookupResult) -> list[str]:
    assert isinstance(answer, SearchAnswered)
    return [found.delivery for found in answer.found]


def test_a_search_names_the_stream(provider: Pages, client: Postmark) -> None:
    answer_with(provider, 2, numbers_on(1, 2))
    assert keys(search(client)) == ["key.1", "key.2"]
    assert queries(provider) == [
        {
            "count": ["500"],
            "offset": ["0"],
            "messagestream": ["broadcast"],
            "metadata_attempt": ["a77e"],
        }
    ]


def test_search_reads_all_pages(provider: Pages, client: Postmark) -> None:
    answer_with(provider, 1101, numbers_on(1, 500), numbers_on(501, 1000), numbers_on(1001, 1101))
    assert keys(search(client)) == [f"key.{number}" for number in range(1, 1102)]
    assert [query["offset"] for query in queries(provider)] == [["0"], ["500"], ["1000"]]


def test_full_page_is_followed_by_another(provider: Pages, client: Postmark) -> None:
    answer_with(provider, 500, numbers_on(1, 500), numbers_on(501, 501))
    assert len(keys(search(client))) == 501


def test_messages_with_other_metadata_still_count_as_read(
    provider: Pages, client: Postmark
) -> None:
    others = [listed(n, Metadata={"attempt": "other", "delivery": "x"}) for n in range(500)]
    answer_with(provider, 501, others, numbers_on(7, 7))
    assert keys(search(client)) == ["key.7"]


def test_search_that_hides_results_proves_nothing(provider: Pages, client: Postmark) -> None:
    answer_with(provider, 3, numbers_on(1, 2))
    assert isinstance(search(client), SearchFailed)


def test_search_beyond_all_pages_proves_nothing(provider: Pages, client: Postmark) -> None:
    page = numbers_on(1, 500)
    answer_with(provider, 10_001, *[page] * 20)
    assert isinstance(search(client), SearchFailed)
    assert queries(provider)[-1]["offset"] == ["9500"]


@pytest.mark.parametrize("status", [401, 422, 429, 500, 503])
def test_search_with_a_failed_page_proves_nothing(
    provider: Pages, client: Postmark, status: int
) -> None:
    answer_with(provider, 501, numbers_on(1, 500))
    provider.pages.append(http(f"{status} No", body(error(701)), "Retry-After: 17"))
    answer = search(client)
    assert isinstance(answer, SearchFailed)
    assert answer.retry_after_s == 17.0


def test_search_past_its_deadline_is_a_failure() -> None:
    def stall(talk: Any) -> None:
        talk.read_request()
        talk.stall()

    with ScriptedServer(stall) as server:
        client = Postmark(server.url, "secret-token", deadline_s=1.0)
        answer = client.search("attempt", "a77e", stream="broadcast", deadline_at_s=soon(1.0))
        client.close()
    assert answer == SearchFailed(Reason.of(ReasonCode.NO_RESPONSE_IN_TIME))


def test_all_pages_share_the_deadline_of_one_call() -> None:
    page = http("200 OK", page_of(total=10_000, count=500))
    slow_pages = 0

    def answer_each_late(talk: Any) -> None:
        nonlocal slow_pages
        while talk.read_request():
            slow_pages += 1
            server.was_cut_off.wait(0.2)
            talk.write(page)

    with ScriptedServer(answer_each_late) as server:
        client = Postmark(server.url, "secret-token", deadline_s=0.5)
        answer = client.search("attempt", "a77e", stream="broadcast", deadline_at_s=soon(0.5))
        client.close()
    assert isinstance(answer, SearchFailed)
    assert slow_pages < 20


def page_of(*, total: int, count: int) -> bytes:
    return body({"TotalCount": total, "Messages": numbers_on(1, count)})


def stream(handling: object) -> dict[str, object]:
    return {"ID": "broadcast", "SubscriptionManagementConfiguration": handling}


def test_the_stream_states_how_it_handles_unsubscribes(provider: Pages, client: Postmark) -> None:
    stated = stream({"UnsubscribeHandlingType": "Custom"})
    provider.pages.append(http("200 OK", body(stated)))
    assert client.unsubscribe_handling("my/stream") == "Custom"
    assert provider.paths == ["/message-streams/my%2Fstream"]


@pytest.mark.parametrize(
    "answer",
    [
        http("422 No", body(error(1226))),
        http("200 OK", b"<html>"),
        http("200 OK", body([])),
        http("200 OK", body({})),
        http("200 OK", body(stream(None))),
        http("200 OK", body(stream({"UnsubscribeHandlingType": 3}))),
    ],
)
def test_an_unusable_answer_leaves_unsubscribe_handling_unknown(
    provider: Pages, client: Postmark, answer: bytes
) -> None:
    provider.pages.append(answer)
    assert client.unsubscribe_handling("broadcast") is None


def page(
    content: bytes, *, status: int = 200, field_name: str = "attempt", value: str = "a77e"
) -> SearchPage | SearchFailed:
    headers = JSON | {"Retry-After": "9"}
    parse = partial(parse_search, field_name=field_name, value=value)
    return parse_query(RawResponse(status, headers, content), SEARCH, parse)


def messages(*items: object) -> bytes:
    return body({"TotalCount": len(items), "Messages": items})


def test_listed_message_was_accepted() -> None:
    at = datetime(2026, 5, 4, 14, 15, 22, tzinfo=UTC)
    assert page(messages(listed(1), listed(2))) == SearchPage(
        (FoundMessage("key.1", message_id(1), at), FoundMessage("key.2", message_id(2), at)),
        listed=2,
        total=2,
    )


@pytest.mark.parametrize(
    ("total", "counted"), [(731, 731), ("731", 1), (True, 1), (2.5, 1), ([], 1), (None, 1)]
)
def test_without_a_readable_total_only_the_page_counts(total: object, counted: int) -> None:
    answer = page(body({"TotalCount": total, "Messages": [listed(1)]}))
    assert isinstance(answer, SearchPage)
    assert answer.total == counted


def test_results_with_another_value_are_ignored() -> None:
    other = listed(2, Metadata={"delivery": "key.2", "attempt": "a77e2"})
    answer = page(messages(listed(1), other))
    assert isinstance(answer, SearchPage)
    assert [found.delivery for found in answer.found] == ["key.1"]
    assert answer.listed == 2


def test_a_search_by_delivery_compares_that_field() -> None:
    near = listed(11)
    answer = page(messages(near, listed(1)), field_name="delivery", value="key.1")
    assert isinstance(answer, SearchPage)
    assert [found.delivery for found in answer.found] == ["key.1"]


@pytest.mark.parametrize("status", [201, 302, 401, 404, 429, 500])
def test_search_status_other_than_200_proves_nothing(status: int) -> None:
    answer = page(messages(listed(1)), status=status)
    assert isinstance(answer, SearchFailed)
    assert answer.retry_after_s == 9.0


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        body(error(0, "OK")),
        body({"TotalCount": 0, "Messages": None}),
        messages(listed(1))[:-1],
        messages(None),
        messages({}),
        messages(listed(1, Metadata=None)),
        messages(listed(1, MessageID=None)),
        messages(listed(1, Metadata={"attempt": "a77e"})),
        messages(listed(1, Metadata={"attempt": "a77e", "delivery": 7})),
    ],
)
def test_unreadable_result_is_not_an_absence(content: bytes) -> None:
    assert isinstance(page(content), SearchFailed)

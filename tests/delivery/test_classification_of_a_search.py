"""What a page of Postmark's search says. Whatever is odd about it is no information."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from delivery.classification import SearchPage, classify_search
from delivery.outcomes import Found, NoInformation
from tests.delivery.answers import JSON, body, error, listed, message_id


def page(
    content: bytes, *, status: int = 200, field_name: str = "attempt", value: str = "a77e"
) -> SearchPage | NoInformation:
    headers = JSON | {"Retry-After": "9"}
    return classify_search(status, headers, content, field_name=field_name, value=value)


def messages(*items: object) -> bytes:
    return body({"TotalCount": len(items), "Messages": items})


def test_what_is_listed_was_accepted() -> None:
    at = datetime(2026, 5, 4, 14, 15, 22, tzinfo=UTC)
    assert page(messages(listed(1), listed(2))) == SearchPage(
        (Found("key.1", message_id(1), at), Found("key.2", message_id(2), at)), listed=2, total=2
    )


def test_an_empty_list_is_an_answer() -> None:
    assert page(messages()) == SearchPage((), listed=0, total=0)


@pytest.mark.parametrize(
    ("total", "told"), [(731, 731), ("731", 1), (True, 1), (2.5, 1), ([], 1), (None, 1)]
)
def test_without_a_readable_total_the_page_is_all_there_is(total: object, told: int) -> None:
    answer = page(body({"TotalCount": total, "Messages": [listed(1)]}))
    assert isinstance(answer, SearchPage)
    assert answer.total == told


def test_what_does_not_bear_the_value_asked_for_is_not_found() -> None:
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
def test_another_status_than_200_is_no_information(status: int) -> None:
    answer = page(messages(listed(1)), status=status)
    assert isinstance(answer, NoInformation)
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
def test_what_cannot_be_read_is_no_information_and_not_an_absence(content: bytes) -> None:
    assert isinstance(page(content), NoInformation)

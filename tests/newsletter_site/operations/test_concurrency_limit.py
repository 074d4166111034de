"""Requests beyond the limit wait for a slot, or are refused."""

import threading

import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory

from newsletter_site.operations.concurrency_limit import LimitConcurrency, RequestSlots

# This time is longer than any test may take.
LONG_S = 600.0
# A thread that waits with this limit raises an error, so a test that passes proves that none waits.
NO_WAIT_S = float("inf")


def test_requests_wait_for_a_free_slot_unless_pages_are_stuck() -> None:
    slots = RequestSlots(number=1, max_wait_s=NO_WAIT_S)
    assert slots.acquire()
    with pytest.raises(OverflowError):
        slots.acquire()
    slots.is_stuck = True
    assert not slots.acquire()


def test_a_waiting_request_gets_the_next_free_slot() -> None:
    slots = RequestSlots(number=1, max_wait_s=LONG_S)
    assert slots.acquire()
    entered: list[bool] = []
    waits = threading.Thread(target=lambda: entered.append(slots.acquire()))
    waits.start()
    slots.release(held_s=0)
    waits.join(LONG_S)
    assert entered == [True]


def test_after_a_timeout_requests_are_refused_at_once() -> None:
    slots = RequestSlots(number=1, max_wait_s=0.01)
    assert slots.acquire()
    assert not slots.is_stuck
    assert not slots.acquire()
    assert slots.is_stuck
    slots.release(held_s=60)
    # One page that ends slowly does not end the refusals, because the next page may hang too.
    assert slots.is_stuck
    assert slots.acquire()
    slots.release(held_s=0)
    assert not slots.is_stuck


# This test needs the database, because the end of a response closes connections.
@pytest.mark.django_db
def test_a_file_that_is_still_sent_holds_its_place(rf: RequestFactory) -> None:
    def pages(request: HttpRequest) -> HttpResponseBase:
        return StreamingHttpResponse(iter([b"row"])) if request.path == "/file" else HttpResponse()

    site = LimitConcurrency(pages, RequestSlots(number=1, max_wait_s=0.01))
    file = site(rf.get("/file"))
    assert site(rf.get("/")).status_code == 503
    file.close()
    assert site(rf.get("/")).status_code == 200
    assert site(rf.get("/")).status_code == 200


def test_a_failing_page_releases_its_slot(rf: RequestFactory) -> None:
    def broken(request: HttpRequest) -> HttpResponseBase:
        raise LookupError

    site = LimitConcurrency(broken, RequestSlots(number=1, max_wait_s=0.01))
    for _ in range(2):
        with pytest.raises(LookupError):
            site(rf.get("/"))


@pytest.mark.parametrize(
    ("path", "words"), [("/", "Le site"), ("/admin/", "The site"), ("/api/v1/", "The site")]
)
def test_a_busy_site_says_so_in_the_browsers_language(
    rf: RequestFactory, path: str, words: str
) -> None:
    site = LimitConcurrency(lambda _request: HttpResponse(), RequestSlots(number=0, max_wait_s=0))
    answer = site(rf.get(path, headers={"Accept-Language": "fr-FR"}))
    assert answer.status_code == 503
    assert isinstance(answer, HttpResponse)
    assert words in answer.content.decode()

"""Fewer pages are worked at than there are threads; who waits for a place, and who does not."""

import threading

import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory

from newsletter_site.operations.concurrency_limit import LimitConcurrency, RequestSlots

# Longer than any test may take.
LONG_S = 600.0
# Whoever began to wait so long would break at once.
NO_WAIT_S = float("inf")


def test_whoever_finds_no_place_waits_for_one() -> None:
    slots = RequestSlots(number=1, max_wait_s=NO_WAIT_S)
    assert slots.acquire()
    with pytest.raises(OverflowError):
        slots.acquire()


def test_whoever_finds_no_place_gets_the_next_one() -> None:
    slots = RequestSlots(number=1, max_wait_s=LONG_S)
    assert slots.acquire()
    entered: list[bool] = []
    waits = threading.Thread(target=lambda: entered.append(slots.acquire()))
    waits.start()
    slots.release(held_s=0)
    waits.join(LONG_S)
    assert entered == [True]


def test_once_somebody_waited_in_vain_nobody_waits_until_a_page_is_finished_in_time() -> None:
    slots = RequestSlots(number=1, max_wait_s=0.01)
    assert slots.acquire()
    assert not slots.is_stuck
    assert not slots.acquire()
    assert slots.is_stuck
    slots.release(held_s=60)
    # A page that took long says nothing: the next one may hang as well.
    assert slots.is_stuck
    assert slots.acquire()
    slots.release(held_s=0)
    assert not slots.is_stuck


def test_where_pages_are_stuck_whoever_finds_no_place_is_sent_away_at_once() -> None:
    slots = RequestSlots(number=1, max_wait_s=NO_WAIT_S)
    assert slots.acquire()
    slots.is_stuck = True
    assert not slots.acquire()


# The end of an answer looks after connections.
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


def test_a_page_that_breaks_gives_its_place_back(rf: RequestFactory) -> None:
    def broken(request: HttpRequest) -> HttpResponseBase:
        raise LookupError

    site = LimitConcurrency(broken, RequestSlots(number=1, max_wait_s=0.01))
    for _ in range(2):
        with pytest.raises(LookupError):
            site(rf.get("/"))

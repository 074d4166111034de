"""What the demo holds Homing to: each promise that is broken gets its sentence, and no other."""

from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from newsletter_site.demo import readers
from newsletter_site.demo.checks import Entry, Happened, broken_promises
from newsletter_site.demo.failure import DemoError
from newsletter_site.demo.posting_twice import Post, PostedTwice
from subscribers.models import Subscriber
from tests.delivery.rules.test_edition_state import books

SENT, REFUSED = Entry("a@example.org", "sent", ""), Entry("b@example.org", "failed", "Refused.")

BOOKS = books(audience=3, sent=2, failed=1)
ACCEPTED = Post((303,), "/admin/newsletters/", 0.1)
AS_PROMISED = Happened(
    posted=PostedTwice("a key", ACCEPTED, ACCEPTED),
    mailable=3,
    editions_made=1,
    books=BOOKS,
    state="succeeded",
    reason="",
    ledger={"1": SENT, "2": SENT, "3": REFUSED},
    copies={"1": 1, "2": 1},
    readers_with_two=0,
    links={"http://127.0.0.1:8000/archive/a-letter/": 200},
)


def posted(second: Post) -> PostedTwice:
    return PostedTwice("a key", ACCEPTED, second)


def test_nothing_is_broken_when_all_went_well() -> None:
    assert broken_promises(AS_PROMISED) == []
    assert AS_PROMISED.exactly_once == 2
    assert AS_PROMISED.not_sent == [REFUSED]


def test_a_409_whose_retry_is_accepted_breaks_nothing() -> None:
    patient = posted(Post((409, 303), "/admin/newsletters/", 1.1))
    assert broken_promises(replace(AS_PROMISED, posted=patient)) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"posted": posted(Post((500,), "", 0.1))},
            "The two posts were answered 303 and 500; both should be 303.",
        ),
        (
            {"posted": posted(Post((303,), "/elsewhere/", 0.1))},
            "The two posts lead to /admin/newsletters/ and /elsewhere/, not to one page.",
        ),
        ({"editions_made": 2}, "The two posts made 2 editions instead of one."),
        ({"mailable": 4}, "The audience is 3, but 4 readers were confirmed."),
        (
            {"state": "needs attention", "reason": "Somebody was missed."},
            "The edition ended as “needs attention”. Somebody was missed.",
        ),
        ({"copies": {"1": 1}}, "Readers down as sent who have no copy: 1."),
        ({"copies": {"1": 1, "2": 2}}, "Readers who have more than one copy: 1."),
        ({"copies": {"1": 1, "2": 1, "3": 1}}, "Readers not down as sent who have a copy: 1."),
        ({"copies": {"1": 1, "2": 1, "4": 1}}, "Copies that belong to nobody in the ledger: 1."),
        ({"readers_with_two": 1}, "Addresses that have two copies of one edition: 1."),
        (
            {"links": {"http://127.0.0.1:8000/archive/": 404}},
            "The link http://127.0.0.1:8000/archive/ of a mail answers 404 instead of 200.",
        ),
    ],
)
def test_a_broken_promise_is_said_in_one_sentence(change: dict[str, Any], sentence: str) -> None:
    assert broken_promises(replace(AS_PROMISED, **change)) == [sentence]


def test_books_that_do_not_add_up_are_said_and_so_is_the_outcome_that_is_off() -> None:
    wrong = replace(AS_PROMISED, books=replace(BOOKS, sent=3))
    assert broken_promises(wrong) == [
        "The books do not balance: the outcomes do not add up to the audience.",
        "The books say 3 sent, the deliveries 2.",
    ]


def test_outside_debug_it_stops_with_one_sentence(settings: Any) -> None:
    settings.DEBUG = False
    with pytest.raises(CommandError, match=r"^DEBUG is off, .+$"):
        call_command("demo", "--exit")


@pytest.mark.django_db
def test_a_database_with_somebody_elses_readers_is_refused() -> None:
    Subscriber.objects.create(email="reader@example.org")
    with pytest.raises(DemoError, match=r"^The database holds 1 reader that the demo did not"):
        readers.refuse_other_readers()


@pytest.mark.django_db
def test_a_database_with_no_readers_or_its_own_is_taken_and_imports_them_once() -> None:
    readers.refuse_other_readers()
    first = readers.bring_in(lambda: None)
    readers.refuse_other_readers()
    again = readers.bring_in(lambda: None)
    assert (first.report.created, again.report.created) == (True, False)
    assert again.mailable == first.mailable

"""The demo reports each broken promise with a sentence of its own."""

from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from delivery.models import Delivery
from delivery.rules.edition_state import EditionState
from newsletter_site.demo.demo_browser import Post
from newsletter_site.demo.demo_summary import Observed, broken_promises
from newsletter_site.demo.start_services import READERS, refuse_other_readers
from newsletter_site.demo.terminal import DemoError
from publishing.editions.edition_status import EditionStatus
from subscribers.confirmed_readers import confirmed
from subscribers.importing.accept_upload import Statement
from subscribers.importing.import_file import ImportReport, import_file
from subscribers.models import Subscriber, SubscriberImport
from tests.delivery.rules.test_edition_state import counts

SENT, REFUSED = Delivery(outcome="sent"), Delivery(outcome="failed")
COUNTS_OF_ONE = counts(audience=3, sent=2, failed=1)
ACCEPTED = Post(303, "/admin/newsletters/", 0.1)
AS_PROMISED = Observed(
    imported=ImportReport(SubscriberImport()),
    total=3,
    posts=(ACCEPTED, ACCEPTED),
    mailable=3,
    editions=1,
    status=EditionStatus(COUNTS_OF_ONE, EditionState.SUCCEEDED),
    violations=[],
    deliveries={"1": SENT, "2": SENT, "3": REFUSED},
    copies={"1": 1, "2": 1},
    readers_with_two=0,
    links={"http://127.0.0.1:8000/archive/a-letter/": 200},
)


def test_a_run_without_faults_breaks_no_promise() -> None:
    assert list(broken_promises(AS_PROMISED)) == []
    assert AS_PROMISED.exactly_once == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"posts": (ACCEPTED, Post(500, "", 0.1))},
            "The two posts were answered 303 and 500 instead of 303 and 303.",
        ),
        (
            {"posts": (ACCEPTED, Post(303, "/elsewhere/", 0.1))},
            "The two posts lead to different pages: /admin/newsletters/ and /elsewhere/.",
        ),
        ({"editions": 2}, "The two posts created 2 editions instead of 1."),
        ({"mailable": 4}, "The audience is 3, but 4 readers were confirmed."),
        (
            {"status": EditionStatus(COUNTS_OF_ONE, EditionState.NEEDS_ATTENTION)},
            "The edition ended as “needs attention”.",
        ),
        ({"copies": {"1": 1}}, "Deliveries sent without a copy: 1."),
        ({"copies": {"1": 1, "2": 2}}, "Deliveries with more than one copy: 1."),
        ({"copies": {"1": 1, "2": 1, "3": 1}}, "Deliveries not sent, but with a copy: 1."),
        ({"copies": {"1": 1, "2": 1, "4": 1}}, "Copies without a delivery: 1."),
        ({"violations": ["Broken: counters equal the rows."]}, "Broken: counters equal the rows."),
        ({"readers_with_two": 1}, "Addresses with two copies of one edition: 1."),
        (
            {"links": {"http://127.0.0.1:8000/archive/": 404}},
            "The link http://127.0.0.1:8000/archive/ in a mail answers 404 instead of 200.",
        ),
    ],
)
def test_a_broken_promise_gives_one_sentence(change: dict[str, Any], sentence: str) -> None:
    assert list(broken_promises(replace(AS_PROMISED, **change))) == [sentence]


def test_outside_debug_it_stops_with_one_sentence(settings: Any) -> None:
    settings.DEBUG = False
    with pytest.raises(CommandError, match=r"^DEBUG is off, .+$"):
        call_command("demo", "--exit")


@pytest.mark.django_db
def test_a_database_with_other_readers_is_refused() -> None:
    Subscriber.objects.create(email="reader@example.org")
    with pytest.raises(DemoError, match=r"the database has other readers \(1\)"):
        refuse_other_readers()


@pytest.mark.django_db
def test_the_demo_imports_its_readers_once_beside_later_ones() -> None:
    refuse_other_readers()
    first = import_file(READERS, stated=Statement(confirmed=True))
    assert {name: number for name, number in first.record.counts.items() if number} == {
        "rows": 5141, "added": 5060, "duplicates": 64, "rejected": 17
    }  # fmt: skip
    for email in Subscriber.objects.values_list("email", flat=True):
        assert email.endswith(("example.org", "example.com", "example.net", ".example"))
    mailable = confirmed().count()
    Subscriber.objects.create(email="reader@example.org")
    refuse_other_readers()
    again = import_file(READERS, stated=Statement(confirmed=True))
    assert (first.created, again.created) == (True, False)
    assert confirmed().count() == mailable > 0

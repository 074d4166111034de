"""No text of the provider brings an address into our tables, on any path."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.db import connection

from delivery.feedback import event_inbox, poll_provider
from delivery.feedback.send_suppression_changes import (
    push_suppression_changes,
    queue_suppression_change,
)
from delivery.models import (
    Delivery,
    PeriodicTask,
    ProviderEvent,
    ProviderSuppression,
    SuppressionChange,
)
from delivery.provider.from_settings import provider_from_settings
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.reason import dumps
from subscribers.data_requests.erase import erase
from subscribers.models import Bounce, Subscriber
from tests.delivery.conftest import newsroom, provider
from tests.delivery.edition_factory import Newsroom, never
from tests.delivery.http_responses import Pages, http
from tests.delivery.postmark_responses import body
from tests.delivery.scripted_http_server import ScriptedServer
from tests.delivery.webhook_events import event
from tests.subscribers.search_all_tables import tables_that_hold

__all__ = ["newsroom", "provider"]

NAMED = "reader1@example.net"
SPELLINGS = "Reader1@Example.NET, <reader1@example.net>, reader1%40example.net, reader1&#64;example"
LOCAL_PART, REST = "reader1", "is not known here."
TEXT = f"{SPELLINGS} {REST}"


def columns_that_quote() -> list[str]:
    """List the columns in which a text of the provider quotes the local part."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT table_name, column_name FROM information_schema.columns
            WHERE table_schema = 'public' AND data_type IN ('text', 'character varying', 'jsonb')
            """
        )
        for table, column in cursor.fetchall():
            cursor.execute(
                f'SELECT count(*) FROM "{table}" WHERE "{column}"::text ILIKE %s',
                [f"%{LOCAL_PART}%is not known here%"],
            )
            if cursor.fetchone()[0]:
                found.append(f"{table}.{column}")
    return found


def rests() -> set[str]:
    """List the tables that keep the provider's sentence without the address."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT 'edition' FROM edition WHERE control_reason LIKE %(rest)s
            UNION SELECT 'batch' FROM batch WHERE reason LIKE %(rest)s
            UNION SELECT 'attempt' FROM attempt WHERE detail LIKE %(rest)s
            UNION SELECT 'delivery' FROM delivery WHERE reason LIKE %(rest)s
            """,
            {"rest": f"%{REST}%"},
        )
        return {row[0] for row in cursor.fetchall()}


REPLIES = [
    ("item_error", 300, f"Invalid 'To' address: {TEXT}", {"delivery"}),
    ("item_error", 300, TEXT, {"edition", "attempt"}),
    ("item_error", 100, TEXT, {"delivery"}),
    ("item_error", 101, TEXT, {"batch", "attempt"}),
    ("item_error", 400, TEXT, {"edition", "attempt"}),
    ("item_error", 429, TEXT, {"batch", "attempt"}),
    ("item_error", 4711, TEXT, {"edition", "attempt"}),
    ("whole_422", 300, f"Error parsing 'To': {TEXT}", {"delivery"}),
    ("whole_422", 101, TEXT, {"batch", "attempt"}),
    ("whole_422", 400, TEXT, {"edition", "attempt"}),
    ("whole_422", 401, TEXT, {"edition", "attempt"}),
    ("whole_422", 1101, TEXT, {"edition", "attempt"}),
]


@pytest.mark.parametrize(("fault", "code", "text", "kept_in"), REPLIES)
def test_a_reply_that_quotes_an_address_is_stored_without_it(
    newsroom: Newsroom, settings: Any, fault: str, code: int, text: str, kept_in: set[str]
) -> None:
    settings.DELIVERY_MAX_ATTEMPTS = 1
    newsroom.publish(readers=2)
    newsroom.sandbox.set_fault(fault, code=code, text=text, calls=None)
    newsroom.deliver_all()
    assert columns_that_quote() == []
    assert rests() >= kept_in
    erase(Subscriber.objects.get(email=NAMED).pk)
    assert tables_that_hold(NAMED) == tables_that_hold(NAMED.replace("@", "%40")) == []


@pytest.fixture
def polled(newsroom: Newsroom, settings: Any) -> Iterator[Pages]:
    """Replace the provider by one that answers with these pages."""
    pages = Pages()
    with ScriptedServer(pages, pages) as server:
        settings.POSTMARK_BASE_URL = server.url
        yield pages


def test_a_refused_change_is_stored_without_the_address(polled: Pages) -> None:
    queue_suppression_change("someone@example.net", "reactivate")
    answer = {"EmailAddress": "someone@example.net", "Status": "Failed", "Message": TEXT}
    polled.pages.append(http("200 OK", body({"Suppressions": [answer]})))
    push_suppression_changes(never)
    assert SuppressionChange.objects.get().refusal_reason.endswith(REST)
    assert columns_that_quote() == []


def test_a_reported_bounce_is_stored_without_addresses(newsroom: Newsroom) -> None:
    newsroom.publish(readers=2)
    newsroom.deliver_all()
    words = {"Type": f"Odd{NAMED}", "Description": TEXT, "ID": 1, "Inactive": False}
    for kind in ("Bounce", "SpamComplaint", f"Odd{NAMED}"):
        reported = event("", None, record_type=kind, Email="reader0@example.net", **words)
        stored = event_inbox.store(orjson.dumps(reported | {"ServerID": kind}))
        assert stored is not None
        assert event_inbox.apply(stored)
    assert Bounce.objects.get().description.endswith(REST)
    assert LOCAL_PART not in str(list(Bounce.objects.values()))
    assert LOCAL_PART not in str(list(ProviderEvent.objects.values("kind", "address_key")))


def test_polled_lists_are_stored_without_addresses_in_texts(polled: Pages) -> None:
    reported = {"Type": "HardBounce", "Description": TEXT, "ID": 1, "Email": "a@example.net"}
    reported |= {"BouncedAt": "2026-05-04T10:00:00Z", "MessageStream": "broadcast"}
    entry = {"EmailAddress": "a@example.net", "SuppressionReason": NAMED, "Origin": NAMED}
    entry |= {"CreatedAt": "2026-05-04T10:00:00Z"}
    polled.pages += [
        http("200 OK", body({"TotalCount": 1, "Bounces": [reported]})),
        http("200 OK", body({"Suppressions": [entry]})),
        http("422 Unprocessable Entity", body({"ErrorCode": 1, "Message": TEXT})),
    ]
    Subscriber.objects.create(email="a@example.net", state="pending")
    poll_provider.poll(never)
    assert Bounce.objects.get().description.endswith(REST)
    assert PeriodicTask.objects.filter(failures=1).count() == 1
    assert LOCAL_PART not in str(list(ProviderSuppression.objects.values()))
    assert columns_that_quote() == []


def test_a_setting_of_the_stream_is_reported_without_addresses(polled: Pages) -> None:
    setting = {"SubscriptionManagementConfiguration": {"UnsubscribeHandlingType": f"{NAMED}, odd"}}
    polled.pages.append(http("200 OK", body(setting)))
    problem = provider_from_settings().find_unsubscribe_problem()
    assert "odd" in reason_sentence(problem)
    assert LOCAL_PART not in dumps(problem)
    assert not Delivery.objects.exists()

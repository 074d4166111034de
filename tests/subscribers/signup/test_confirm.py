"""Confirmation by the link and its button makes a visitor a reader."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from django.conf import LazySettings
from django.db.models.functions import Now
from django.http import HttpResponse

from delivery.models import Newsletter, SuppressionChange
from subscribers.confirmed_readers import confirmed
from subscribers.consent.consent_log import record_consent
from subscribers.consent.consent_wording import CONFIRM, CONFIRM_BUTTON
from subscribers.data_requests.erase import erase
from subscribers.leaving.leave import leave
from subscribers.links.unsubscribe_token import token_for
from subscribers.models import ConsentRecord, Subscriber, Suppression
from subscribers.signup.confirm import LinkState, link_state
from tests.subscribers.factories import (
    SubscriberFactory,
    SubscriberImportFactory,
    SuppressionFactory,
    state_of,
)
from tests.subscribers.signup_browser import (
    ADA,
    days_pass,
    get_current,
    ledger_of,
    link,
    press,
    sign_up,
    visitor,
)

pytestmark = pytest.mark.django_db

GONE = ["bounced", "unsubscribed", "complained"]


@pytest.fixture(autouse=True)
def _no_limit(settings: LazySettings) -> None:
    settings.SIGN_UPS_PER_HOUR = settings.SIGN_UP_MAILS_PER_DAY = 1000


@pytest.fixture
def ada() -> Subscriber:
    sign_up(ADA, "Ada Whitlock")
    return get_current()


def set_state(reader: Subscriber, state: str = "unsubscribed") -> None:
    Subscriber.objects.filter(pk=reader.pk).update(
        state=state, unsubscribed_at=Now() if state == "unsubscribed" else None
    )


def is_private(page: HttpResponse) -> bool:
    """Check that a page shows no address and stays out of caches and search engines."""
    assert page.headers["Cache-Control"] == "no-store"
    # With `no-referrer`, browsers would send the form with the origin `null`.
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert page.headers["X-Robots-Tag"] == "noindex"
    return ADA not in page.content.decode().replace("<wbr>", "")


def test_a_link_scanner_confirms_nobody(ada: Subscriber) -> None:
    page = visitor().get(link(ada, 1))
    assert page.status_code == visitor().head(link(ada, 1)).status_code == 200
    assert page.text.count("<button") == page.text.count("<h1>") == 1
    assert '<form class="stack" method="post"' in page.text
    assert "a…a@posthouse.example.org" in page.text.replace("<wbr>", "")
    assert "<script" not in page.text
    assert is_private(page)
    assert state_of(ada) == "pending"
    assert ledger_of(ada) == [("asked", "form", 1)]


def test_confirming_twice_changes_nothing(ada: Subscriber) -> None:
    days_pass(3 * 365)  # a link works for years
    first = press(ada)
    assert first.status_code == 200
    assert "You are subscribed" in first.content.decode()
    assert is_private(first)
    assert state_of(ada) == "confirmed"
    assert ada.confirmed_at is not None
    assert confirmed().filter(pk=ada.pk).exists()
    # If the reader never left or bounced, nothing is requested from the provider.
    assert asked_of_the_provider() == []
    before = vars(ada).copy()

    second, look = press(ada), visitor().get(link(ada, 1))

    assert first.content == second.content == look.content
    assert ledger_of(ada) == [("asked", "form", 1), ("confirmed", "link", 1)]
    ada.refresh_from_db()
    assert {**vars(ada), "_state": 0} == {**before, "_state": 0}


def test_confirming_records_network_and_wording(ada: Subscriber) -> None:
    page = visitor().get(link(ada, 1)).text
    visitor().post(link(ada, 1), REMOTE_ADDR="2001:db8:7:8::9")

    line = ConsentRecord.objects.get(act="confirmed")
    assert (line.how, line.request, line.name) == ("link", 1, "Ada Whitlock")
    assert line.network == "2001:db8:7::/48"
    assert line.wording is not None
    for words in (CONFIRM, CONFIRM_BUTTON, Newsletter.objects.get_current().name):
        assert str(words) in line.wording.text
        assert str(words) in page
    ada.refresh_from_db()
    assert ada.opt_in == line


def test_an_earlier_link_confirms_as_well_as_the_latest(ada: Subscriber) -> None:
    sign_up()
    press(ada, request=1)
    assert state_of(ada) == "confirmed"


def test_an_earlier_link_shows_a_later_confirmation(ada: Subscriber) -> None:
    sign_up()
    press(ada, request=2)
    page = press(ada, request=1)
    assert "You are subscribed" in page.content.decode()
    assert ledger_of(ada)[-1] == ("confirmed", "link", 2)


@pytest.mark.parametrize("state", GONE)
def test_reader_who_left_returns_with_a_new_link(state: str) -> None:
    reader = SubscriberFactory(email=ADA, state=state)
    sign_up()
    press(reader)
    press(reader)
    assert state_of(reader) == "confirmed"
    assert (reader.unsubscribed_at, reader.gone_at) == (None, None)
    assert confirmed().filter(pk=reader.pk).exists()
    assert asked_of_the_provider() == [(ADA, "reactivate")]
    # The reader can unsubscribe again.
    unsubscribe = f"/unsubscribe/{token_for(reader.pk)}/"
    assert "<button" in visitor().get(unsubscribe).text
    visitor().post(unsubscribe)
    assert state_of(reader) == "unsubscribed"
    assert ledger_of(reader)[-1][0] == "left"
    assert asked_of_the_provider()[-1] == (ADA, "suppress")


@pytest.mark.parametrize("state", GONE)
@pytest.mark.parametrize("confirmed_before", [True, False])
def test_a_reader_gone_since_the_request_must_sign_up_again(
    ada: Subscriber, state: str, confirmed_before: bool
) -> None:
    if confirmed_before:
        press(ada)
    set_state(ada, state)
    before = ledger_of(ada)

    for page in (visitor().get(link(ada, 1)), press(ada)):
        assert page.status_code == 200
        assert "This link is too old" in page.content.decode()
        assert is_private(page)
    assert state_of(ada) == state
    assert ledger_of(ada) == before
    sign_up()
    press(ada, request=1)
    assert state_of(ada) == state


def test_an_unmailed_request_does_not_renew_old_links(
    ada: Subscriber, settings: LazySettings
) -> None:
    set_state(ada)
    settings.SIGN_UP_MAILS_PER_DAY = 1
    sign_up()
    press(ada, request=1)
    assert state_of(ada) == "unsubscribed"
    assert visitor().post(link(ada, 0)).status_code == 200
    assert state_of(ada) == "unsubscribed"


def test_signing_up_again_confirms_the_new_name(ada: Subscriber) -> None:
    press(ada)
    first_opt_in = ada.opt_in_id
    sign_up(ADA, "Ada Marlow")
    assert "<button" in visitor().get(link(ada, 2)).text
    ada.refresh_from_db()
    assert ada.name == "Ada Whitlock"
    press(ada)
    ada.refresh_from_db()
    assert ada.name == "Ada Marlow"
    assert ada.opt_in_id != first_opt_in
    # If the typed name is empty, the old name stays.
    sign_up(ADA, "")
    press(ada)
    ada.refresh_from_db()
    assert ada.name == "Ada Marlow"


def test_an_imported_reader_confirms_by_the_link_they_were_mailed() -> None:
    reader = SubscriberFactory(email=ADA, state="pending", requests=1)
    ConsentRecord.objects.create(
        subscriber=reader,
        act="imported",
        how="import",
        request=1,
        subscriber_import=SubscriberImportFactory(),
    )

    press(reader, request=1)

    assert state_of(reader) == "confirmed"


@pytest.mark.parametrize("reason", ["bounce", "complaint", "unsubscribe"])
def test_a_readers_own_consent_lifts_a_suppression(reason: str) -> None:
    reader = SubscriberFactory(email=ADA, state="complained")
    SuppressionFactory(address_key=ADA, reason=reason)
    sign_up()
    press(reader)
    suppression = Suppression.objects.get()
    assert suppression.lifted_at is not None
    assert suppression.lifted_by_id == reader.consent_records.get(act="confirmed").pk
    assert confirmed().filter(pk=reader.pk).exists()


def test_a_blocked_address_stays_blocked_after_confirming(ada: Subscriber) -> None:
    set_state(ada)
    SuppressionFactory(address_key=ADA, reason="manual", origin="operator")
    sign_up()
    page = press(ada)
    assert "You are subscribed" in page.content.decode()
    assert Suppression.objects.get().lifted_at is None
    assert not confirmed().filter(pk=ada.pk).exists()
    assert asked_of_the_provider() == []


def test_other_suppressions_stay(ada: Subscriber) -> None:
    SuppressionFactory(address_key=ADA, at=datetime.now(UTC) + timedelta(days=1))
    SuppressionFactory(address_key="bram@posthouse.example.org")
    press(ada)
    assert not Suppression.objects.exclude(lifted_at=None).exists()


def asked_of_the_provider() -> list[tuple[str, str]]:
    """Return the changes queued for the provider, except those of unsubscribing."""
    return list(SuppressionChange.objects.values_list("address", "change"))


def test_the_provider_reactivates_an_erased_reader_who_signed_up(ada: Subscriber) -> None:
    press(ada)
    leave(ada.pk)
    erase(ada.pk)
    sign_up()
    press(Subscriber.objects.get(email_key=ADA))
    assert asked_of_the_provider() == [(ADA, "reactivate")]


@pytest.mark.parametrize("around", ["{})", "{}>", "3D{}", "{} ", "{}="])
def test_characters_stuck_to_a_confirmation_link_are_ignored(ada: Subscriber, around: str) -> None:
    token = around.format(link(ada, 1).rpartition("=")[2])
    for page in ("/subscriptions/confirm/", "//subscriptions/confirm/)"):
        query = urlencode({"subscription_token": token})
        shown = visitor().get("/", PATH_INFO=page, QUERY_STRING=query)
        assert "Someone signed up with" in shown.text
    assert state_of(ada) == "pending"


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_damaged_confirmation_link_offers_to_sign_up(ada: Subscriber, method: str) -> None:
    good = link(ada, 1).rpartition("=")[2]
    tokens = ["", "x", good[:-1], good.swapcase(), token_for(ada.pk), "\x00", "é" * 32]

    answers = [
        getattr(visitor(), method)(
            "/subscriptions/confirm/", query_params={"subscription_token": t}
        )
        for t in tokens
    ]

    assert {answer.status_code for answer in answers} == {200 if method == "get" else 404}
    assert len({re.sub(r'value="[\w.:-]+"', "", answer.text) for answer in answers}) == 1
    assert "This link is damaged" in answers[0].text
    assert 'action="/subscriptions/"' in answers[0].text
    assert all(map(is_private, answers))
    assert state_of(ada) == "pending"


def test_a_link_without_a_recorded_request_confirms_nobody(ada: Subscriber) -> None:
    page = press(ada, request=7)
    assert "This link is too old" in page.content.decode()
    assert state_of(ada) == "pending"


def test_confirming_needs_the_csrf_token(ada: Subscriber) -> None:
    browser = visitor(strict=True)
    answer = browser.post(link(ada, 1))
    assert answer.status_code == 403
    assert "Press the button again" in answer.text
    assert answer.text.count("<button") == 1
    assert state_of(ada) == "pending"
    browser.post(link(ada, 1), {"csrfmiddlewaretoken": answer.context["csrf_token"]})
    assert state_of(ada) == "confirmed"


BEFORE = datetime(2026, 3, 1, tzinfo=UTC)
AFTER = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("how", "act", "asked_at", "state"),
    [
        ("form", "asked", AFTER, LinkState.OPEN),
        ("embedded form", "asked", AFTER, LinkState.OPEN),
        ("archive", "asked", AFTER, LinkState.OPEN),
        ("form", "asked", BEFORE, LinkState.STALE),
        ("import", "imported", AFTER, LinkState.STALE),
        ("operator", "asked", AFTER, LinkState.STALE),
    ],
)
def test_only_a_later_own_request_resubscribes(
    how: str, act: str, asked_at: datetime, state: LinkState
) -> None:
    gone_at = BEFORE + timedelta(hours=1)
    asked = ConsentRecord(act=act, how=how, at=asked_at, request=2)
    assert link_state("unsubscribed", gone_at, 2, asked, None) is state


@pytest.mark.parametrize("state", [*GONE, "pending"])
@pytest.mark.parametrize("how", ["operator", "form", "archive"])
def test_the_database_accepts_every_offered_confirmation(state: str, how: str) -> None:
    reader = SubscriberFactory(email=ADA, state=state, requests=1)
    record_consent(reader.pk, "asked", how, request=1)
    offered = "<button" in visitor().get(link(reader, 1)).text
    press(reader)
    assert offered is (how != "operator" or state == "pending")
    assert state_of(reader) == ("confirmed" if offered else state)

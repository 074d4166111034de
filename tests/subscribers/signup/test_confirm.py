"""Confirming: one press of one button, by the link in the mail, makes somebody a reader."""

from datetime import UTC, datetime, timedelta

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


def state_of(reader: Subscriber) -> str:
    reader.refresh_from_db()
    return reader.state


def goes(reader: Subscriber, state: str = "unsubscribed") -> None:
    Subscriber.objects.filter(pk=reader.pk).update(
        state=state, unsubscribed_at=Now() if state == "unsubscribed" else None
    )


def is_private(page: HttpResponse) -> bool:
    """Tell whether a page shows no address, and is kept by no cache and no search engine."""
    assert page.headers["Cache-Control"] == "no-store"
    # Not no-referrer: a browser would then send the button with the origin `null`.
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert page.headers["X-Robots-Tag"] == "noindex"
    return ADA not in page.content.decode().replace("<wbr>", "")


def test_a_scanner_that_follows_links_confirms_nobody(ada: Subscriber) -> None:
    page = visitor().get(link(ada, 1))
    assert page.status_code == visitor().head(link(ada, 1)).status_code == 200
    assert page.text.count("<button") == page.text.count("<h1>") == 1
    assert '<form method="post">' in page.text
    assert "a…a@posthouse.example.org" in page.text.replace("<wbr>", "")
    assert "<script" not in page.text
    assert is_private(page)
    assert state_of(ada) == "pending"
    assert ledger_of(ada) == [("asked", "form", 1)]


def test_one_press_makes_a_reader_and_another_changes_nothing(ada: Subscriber) -> None:
    days_pass(3 * 365)  # a link works for years
    first = press(ada)
    assert first.status_code == 200
    assert "You are subscribed" in first.content.decode()
    assert is_private(first)
    assert state_of(ada) == "confirmed"
    assert ada.confirmed_at is not None
    assert confirmed().filter(pk=ada.pk).exists()
    # The provider is not asked about a reader who had never gone.
    assert asked_of_the_provider() == []
    before = vars(ada).copy()

    second, look = press(ada), visitor().get(link(ada, 1))

    assert first.content == second.content == look.content
    assert ledger_of(ada) == [("asked", "form", 1), ("confirmed", "link", 1)]
    ada.refresh_from_db()
    assert {**vars(ada), "_state": 0} == {**before, "_state": 0}


def test_where_from_and_by_which_words_they_agreed_is_on_record(ada: Subscriber) -> None:
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


def test_an_earlier_link_says_the_same_once_a_later_one_confirmed(ada: Subscriber) -> None:
    sign_up()
    press(ada, request=2)
    page = press(ada, request=1)
    assert "You are subscribed" in page.content.decode()
    assert ledger_of(ada)[-1] == ("confirmed", "link", 2)


@pytest.mark.parametrize("state", GONE)
def test_who_went_and_asked_anew_comes_back_by_the_new_link(state: str) -> None:
    reader = SubscriberFactory(email=ADA, state=state)
    sign_up()
    press(reader)
    press(reader)
    assert state_of(reader) == "confirmed"
    assert (reader.unsubscribed_at, reader.gone_at) == (None, None)
    assert confirmed().filter(pk=reader.pk).exists()
    assert asked_of_the_provider() == [(ADA, "reactivate")]


@pytest.mark.parametrize("state", GONE)
@pytest.mark.parametrize("confirmed_before", [True, False])
def test_who_went_after_asking_is_told_to_ask_anew(
    ada: Subscriber, state: str, confirmed_before: bool
) -> None:
    if confirmed_before:
        press(ada)
    goes(ada, state)
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


def test_a_request_that_was_not_mailed_makes_no_old_link_new(
    ada: Subscriber, settings: LazySettings
) -> None:
    goes(ada)
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
    press(ada)
    ada.refresh_from_db()
    assert ada.name == "Ada Marlow"
    assert ada.opt_in_id != first_opt_in
    # No name typed leaves the name as it is.
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
def test_their_own_consent_lifts_what_shut_the_address_out(reason: str) -> None:
    reader = SubscriberFactory(email=ADA, state="complained")
    SuppressionFactory(address_key=ADA, reason=reason)
    sign_up()
    press(reader)
    suppression = Suppression.objects.get()
    assert suppression.lifted_at is not None
    assert suppression.lifted_by_id == reader.consent_records.get(act="confirmed").pk
    assert confirmed().filter(pk=reader.pk).exists()


def test_what_an_operator_shut_out_stays_so_and_the_page_says_the_same(ada: Subscriber) -> None:
    goes(ada)
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
    """What the provider is to do about which addresses, not counting what leaving asked for."""
    return list(SuppressionChange.objects.values_list("address", "change"))


def test_the_provider_reactivates_who_was_erased_and_came_back(ada: Subscriber) -> None:
    press(ada)
    leave(ada.pk)
    erase(ada.pk)
    sign_up()
    press(Subscriber.objects.get(email_key=ADA))
    assert asked_of_the_provider() == [(ADA, "reactivate")]


@pytest.mark.parametrize("method", ["get", "post"])
def test_what_we_never_gave_out_is_not_found(ada: Subscriber, method: str) -> None:
    good = link(ada, 1).rpartition("=")[2]
    tokens = ["", "x", good[:-1], f"{good}x", good.swapcase(), token_for(ada.pk), "\x00", "é" * 32]

    answers = [
        getattr(visitor(), method)(
            "/subscriptions/confirm/", query_params={"subscription_token": t}
        )
        for t in tokens
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert all(map(is_private, answers))
    assert state_of(ada) == "pending"


def test_a_link_whose_request_is_not_on_record_confirms_nobody(ada: Subscriber) -> None:
    page = press(ada, request=7)
    assert "This link is too old" in page.content.decode()
    assert state_of(ada) == "pending"


def test_another_site_cannot_press_the_button(ada: Subscriber) -> None:
    browser = visitor(strict=True)
    answer = browser.post(link(ada, 1))
    assert answer.status_code == 403
    assert "Press the button again" in answer.text
    assert answer.text.count("<button") == 1
    assert state_of(ada) == "pending"
    browser.post(link(ada, 1), {"csrfmiddlewaretoken": answer.context["csrf_token"]})
    assert state_of(ada) == "confirmed"


def test_other_methods_are_not_allowed(ada: Subscriber) -> None:
    for method in ("put", "patch", "delete", "options", "trace"):
        assert getattr(visitor(), method)(link(ada, 1)).status_code == 405
    assert state_of(ada) == "pending"


BEFORE = datetime(2026, 3, 1, tzinfo=UTC)
AFTER = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("how", "act", "asked_at", "state"),
    [
        ("form", "asked", AFTER, LinkState.OPEN),
        ("embedded form", "asked", AFTER, LinkState.OPEN),
        ("form", "asked", BEFORE, LinkState.STALE),
        ("import", "imported", AFTER, LinkState.STALE),
        ("operator", "asked", AFTER, LinkState.STALE),
    ],
)
def test_only_their_own_request_after_they_went_brings_back(
    how: str, act: str, asked_at: datetime, state: LinkState
) -> None:
    gone_at = BEFORE + timedelta(hours=1)
    asked = ConsentRecord(act=act, how=how, at=asked_at, request=2)
    assert link_state("unsubscribed", gone_at, 2, asked, None) is state


@pytest.mark.parametrize("state", [*GONE, "pending"])
@pytest.mark.parametrize("how", ["operator", "form"])
def test_the_database_takes_what_the_page_offers(state: str, how: str) -> None:
    reader = SubscriberFactory(email=ADA, state=state, requests=1)
    record_consent(reader.pk, "asked", how, request=1)
    offered = "<button" in visitor().get(link(reader, 1)).text
    press(reader)
    assert offered is (how == "form" or state == "pending")
    assert state_of(reader) == ("confirmed" if offered else state)

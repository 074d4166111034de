"""Provider events about addresses, together with blocks by operators."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from delivery.models import SuppressionChange
from delivery.provider.events import (
    AddressEvent,
    AddressReactivated,
    AddressSuppressed,
    Bounced,
    Delivered,
)
from delivery.rules.delivery_key import DeliveryKey
from subscribers.consent.consent_log import record_consent
from subscribers.delivery_hooks import RegisteredReaders
from subscribers.models import Bounce, Subscriber, Suppression
from subscribers.models.consent_record import ConsentRecord
from subscribers.suppression import manual_suppression
from subscribers.suppression.apply_events_to_readers import SOFT_BOUNCES, WITHIN_DAYS
from tests.delivery.edition_factory import Newsroom
from tests.publishing.second_connection import PATIENCE_S, beside
from tests.subscribers.factories import state_of

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def apply(*facts: AddressEvent) -> None:
    RegisteredReaders().apply_events(facts)


def bounced(kind: str = "HardBounce", **more: Any) -> Bounced:
    settings = {"address": "Ann@Example.net", "at": AT, "bounce": "1", "inactive": False}
    return Bounced(**(settings | {"kind": kind} | more))


def suppressed(
    reason: str = "ManualSuppression", origin: str = "Recipient", **more: Any
) -> AddressEvent:
    settings = {"address": "ann@example.net", "at": AT}
    return AddressSuppressed(**(settings | {"reason": reason, "origin": origin} | more))


@pytest.fixture
def ann() -> Subscriber:
    """Make a confirmed, imported reader."""
    return Subscriber.objects.create(
        email="Ann@example.net", state="confirmed", confirmed_at="2026-01-01T00:00:00Z"
    )


def acts() -> list[str]:
    return list(ConsentRecord.objects.order_by("id").values_list("act", flat=True))


def opt_in(reader: Subscriber) -> datetime:
    record_consent(reader.pk, "asked", "form", request=1)
    line = ConsentRecord.objects.get(pk=record_consent(reader.pk, "confirmed", "link", request=1))
    Suppression.objects.filter(lifted_at=None, origin="provider").update(
        lifted_at=line.at, lifted_by_id=line.pk
    )
    Subscriber.objects.filter(pk=reader.pk).update(
        state="confirmed", confirmed_at=line.at, unsubscribed_at=None, opt_in_id=line.pk
    )
    return line.at


@pytest.mark.parametrize(
    ("event", "state", "reason"),
    [
        (bounced(), "bounced", "bounce"),
        (bounced("BadEmailAddress"), "bounced", "bounce"),
        (bounced("SoftBounce", inactive=True), "bounced", "bounce"),
        (bounced("Unsubscribe"), "unsubscribed", "unsubscribe"),
        (bounced("SpamComplaint"), "complained", "complaint"),
        (suppressed(), "unsubscribed", "unsubscribe"),
        (suppressed("HardBounce"), "bounced", "bounce"),
        (suppressed("SpamComplaint"), "complained", "complaint"),
        (suppressed(origin="Customer"), "confirmed", "manual"),
        (suppressed(origin="Admin"), "confirmed", "manual"),
        (suppressed("NotYetInvented"), "confirmed", "manual"),
        (suppressed(origin="Customer", is_our_own=True), "confirmed", None),
        (bounced("SoftBounce"), "confirmed", None),
        (bounced("AutoResponder"), "confirmed", None),
        (Delivered(address="ann@example.net", at=AT), "confirmed", None),
        (AddressReactivated(address="ann@example.net", at=AT), "confirmed", None),
    ],
)
def test_each_event_has_its_effect(
    ann: Subscriber, event: AddressEvent, state: str, reason: str | None
) -> None:
    apply(event, event)
    assert state_of(ann) == state
    assert list(Suppression.objects.values_list("address_key", "reason", "at")) == (
        [("ann@example.net", reason, AT)] if reason else []
    )


def test_a_bounced_confirmation_mail_marks_its_reader() -> None:
    reader = Subscriber.objects.create(email="ann@example.net", state="pending")
    apply(bounced(stream="outbound"))
    assert state_of(reader) == "bounced"


def test_the_order_makes_no_difference(ann: Subscriber) -> None:
    facts = (
        bounced(at=AT),
        suppressed(at=AT + DAY),
        bounced("SpamComplaint", at=AT + 2 * DAY, bounce="2"),
        AddressReactivated(address="ann@example.net", at=AT + 3 * DAY),
    )
    left = set()
    for order in itertools.permutations(facts):
        with connection.cursor() as cursor:
            cursor.execute("SELECT erase_subscriber_1(%s, %s)", [ann.pk, b"hash"])
        ann = Subscriber.objects.create(
            email="Ann@example.net", state="confirmed", confirmed_at="2026-01-01T00:00:00Z"
        )
        apply(*order)
        ann.refresh_from_db()
        entry = Suppression.objects.get()
        # Leave out `lifted`, which is recorded only if the reactivation arrives before the two
        # more serious events.
        seen = tuple(sorted({*acts()} - {"lifted"}))
        left.add((ann.state, ann.unsubscribed_at, entry.reason, entry.lifted_at, seen))
    assert left == {("complained", AT + DAY, "complaint", None, ("bounced", "complained", "left"))}


def test_an_act_is_recorded_once(ann: Subscriber) -> None:
    apply(bounced(), suppressed("HardBounce"), bounced(bounce="2"))
    assert acts() == ["bounced"]


def test_a_bounce_is_stored_once_and_gets_its_copy_later(ann: Subscriber) -> None:
    key = DeliveryKey(UUID(int=7), 2, ann.pk)
    apply(bounced(at=AT + DAY), bounced(delivery=key), bounced())
    kept = Bounce.objects.get()
    assert (kept.provider_id, kept.at, kept.issue_id, kept.version) == ("1", AT, UUID(int=7), 2)


def test_a_bounce_without_an_id_is_stored_once(ann: Subscriber) -> None:
    apply(bounced(bounce=None), bounced(bounce=None), bounced(bounce=None, at=AT + DAY))
    assert sorted(Bounce.objects.values_list("at", flat=True)) == [AT, AT + DAY]


@pytest.mark.parametrize("reports", [(True, False), (False, True)])
def test_a_later_inactive_report_updates_the_bounce(
    ann: Subscriber, reports: tuple[bool, bool]
) -> None:
    apply(*[bounced("Transient", inactive=inactive) for inactive in reports])
    assert Bounce.objects.get().inactive


@pytest.mark.parametrize("days", [(0, 1), (1, 0)])
def test_the_earlier_time_of_unsubscribing_stays(ann: Subscriber, days: tuple[int, int]) -> None:
    apply(*[suppressed(at=AT + day * DAY) for day in days])
    ann.refresh_from_db()
    assert ann.unsubscribed_at == AT


def test_repeated_events_do_not_write_the_reader_again(ann: Subscriber) -> None:
    def written_by() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT xmin, ctid FROM subscriber WHERE id = %s", [ann.pk])
            return cursor.fetchone()  # type: ignore[no-any-return]

    apply(bounced())
    before = written_by()
    apply(bounced(bounce="2"), bounced(bounce="3"))
    assert written_by() == before


def test_an_unknown_address_is_suppressed() -> None:
    apply(bounced(), suppressed())
    assert not Subscriber.objects.exists()
    assert Suppression.objects.get().reason == "unsubscribe"


def test_the_address_identifies_the_reader_not_the_copy(ann: Subscriber) -> None:
    apply(bounced(address="other@example.net", delivery=DeliveryKey(UUID(int=7), 1, ann.pk)))
    assert state_of(ann) == "confirmed"
    assert Suppression.objects.get().address_key == "other@example.net"


ON_REQUEST = [
    (bounced(), "confirmed", "bounced", None),
    (bounced("Unsubscribe"), "confirmed", "unsubscribed", None),
    (bounced("SpamComplaint"), "complained", "complained", "complaint"),
    (bounced("SoftBounce"), "confirmed", "pending", None),
    (suppressed(), "confirmed", "unsubscribed", None),
    (suppressed("HardBounce"), "confirmed", "bounced", None),
    (suppressed("SpamComplaint"), "complained", "complained", "complaint"),
    (suppressed(origin="Customer"), "confirmed", "pending", None),
]


@pytest.mark.parametrize(("event", "confirmed", "pending", "reason"), ON_REQUEST)
def test_only_a_complaint_about_mail_on_request_concerns_the_newsletter(
    ann: Subscriber, event: AddressEvent, confirmed: str, pending: str, reason: str | None
) -> None:
    new = Subscriber.objects.create(email="new@example.net", state="pending")
    for address in (ann.email, new.email, "nobody@example.net"):
        on_request = replace(event, address=address, is_on_request=True)
        if isinstance(on_request, Bounced):
            on_request = replace(on_request, bounce=f"{address} {on_request.bounce}")
        apply(on_request, on_request)
    assert (state_of(ann), state_of(new)) == (confirmed, pending)
    assert [entry.reason for entry in Suppression.objects.all()] == [reason] * 3 * bool(reason)
    assert Bounce.objects.count() == (2 if isinstance(event, Bounced) else 0)


def soft(number: int, *, days: float, issue: int | None = None) -> Bounced:
    key = DeliveryKey(UUID(int=number if issue is None else issue), 1, 10**12)
    return bounced("SoftBounce", bounce=str(number + 1), at=AT + days * DAY, delivery=key)


@pytest.mark.parametrize("turn", [1, -1])
def test_enough_soft_bounces_count_as_a_bounce(ann: Subscriber, turn: int) -> None:
    apply(*SOFT[::turn][:-1])
    assert state_of(ann) == "confirmed"
    apply(SOFT[::turn][-1], soft(SOFT_BOUNCES, days=SOFT_BOUNCES))
    assert state_of(ann) == "bounced"
    assert Suppression.objects.get().at == SOFT[-1].at


SOFT = [soft(number, days=number) for number in range(SOFT_BOUNCES)]
APART = (WITHIN_DAYS + 1) / (SOFT_BOUNCES - 1)
NOT_ENOUGH = {
    "of one copy": [soft(number, days=number, issue=1) for number in range(2 * SOFT_BOUNCES)],
    "of no copy of ours": [*SOFT[1:], bounced("SoftBounce", bounce="99", at=AT + DAY)],
    "of mail on request": [*[replace(fact, is_on_request=True) for fact in SOFT[:-1]], SOFT[-1]],
    "of another kind": [replace(SOFT[0], kind="AutoResponder"), *SOFT[1:]],
    "far apart": [soft(number, days=number * APART) for number in range(SOFT_BOUNCES)],
}


@pytest.mark.parametrize("facts", NOT_ENOUGH.values(), ids=NOT_ENOUGH)
def test_other_soft_bounces_do_not_add_up(ann: Subscriber, facts: list[Bounced]) -> None:
    apply(*facts)
    assert state_of(ann) == "confirmed"


def test_bounces_before_the_last_opt_in_do_not_count(ann: Subscriber) -> None:
    at = opt_in(ann)
    days = (at - AT) / DAY
    apply(*[soft(number, days=days - 1) for number in range(SOFT_BOUNCES - 1)])
    apply(soft(SOFT_BOUNCES, days=days + 1))
    assert state_of(ann) == "confirmed"


def test_events_older_than_the_opt_in_have_no_effect(ann: Subscriber) -> None:
    apply(suppressed("SpamComplaint"))
    at = opt_in(ann)
    assert state_of(ann) == "confirmed"
    apply(bounced(at=at - DAY), suppressed(at=at), suppressed("SpamComplaint", at=at - DAY))
    assert state_of(ann) == "confirmed"
    assert Suppression.objects.get().lifted_at == at
    # The bounce is stored anyway.
    assert Bounce.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_events_older_than_an_uncommitted_opt_in_have_no_effect(ann: Subscriber) -> None:
    """The reader confirms while the bounce is being applied."""

    def apply_late() -> None:
        with transaction.atomic():
            apply(bounced())

    with transaction.atomic():
        opt_in(ann)
        applying = beside(apply_late)
        Newsroom().wait_for_a_backend_that_waits_for_a_lock()
    applying.result(PATIENCE_S)

    assert state_of(ann) == "confirmed"
    assert not Suppression.objects.exists()


def test_later_events_count_and_are_recorded_again(ann: Subscriber) -> None:
    apply(suppressed("SpamComplaint"))
    at = opt_in(ann)
    apply(bounced(at=at + timedelta(seconds=1)))
    assert state_of(ann) == "bounced"
    entry = Suppression.objects.get()
    assert (entry.reason, entry.lifted_at, entry.lifted_by_id) == ("bounce", None, None)
    assert entry.at == at + timedelta(seconds=1)
    assert acts()[-1] == "bounced"


def test_an_import_is_not_an_opt_in(ann: Subscriber) -> None:
    # The importer states consent after the reader unsubscribed at the provider.
    apply(suppressed(at=datetime(2025, 1, 1, tzinfo=UTC)))
    assert state_of(ann) == "unsubscribed"


def test_unblocking_does_not_lift_later_provider_reports(ann: Subscriber) -> None:
    """An event after the end of a block has the same effect as one before the block."""
    assert manual_suppression.block(ann.pk)
    assert manual_suppression.unblock(ann.pk)
    apply(suppressed(origin="Customer"))
    assert Suppression.objects.get().lifted_at is not None
    apply(bounced("SpamComplaint"))
    entry = Suppression.objects.get()
    assert (entry.reason, entry.origin, entry.lifted_at) == ("complaint", "provider", None)


def test_an_operators_block_keeps_its_origin(ann: Subscriber) -> None:
    Suppression.objects.create(address_key="ann@example.net", reason="manual", origin="operator")
    apply(bounced("SpamComplaint"))
    entry = Suppression.objects.get()
    assert (entry.reason, entry.origin) == ("manual", "operator")
    assert state_of(ann) == "complained"


def apply_kind(kind: str, *, at: datetime = AT) -> None:
    apply(bounced(kind, bounce=kind, at=at))


def suppression_now() -> tuple[str, str, bool]:
    """Return reason, origin and whether the suppression is active."""
    entry = Suppression.objects.get()
    return entry.reason, entry.origin, entry.lifted_at is None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("HardBounce", "bounce"), ("Unsubscribe", "unsubscribe"), ("SpamComplaint", "complaint")],
)
def test_events_about_a_blocked_address_count_after_unblocking(
    ann: Subscriber, kind: str, reason: str
) -> None:
    assert manual_suppression.block(ann.pk)
    apply_kind(kind)
    assert suppression_now() == ("manual", "operator", True)
    assert manual_suppression.unblock(ann.pk)
    assert suppression_now() == (reason, "provider", True)
    assert RegisteredReaders().suppressed_among(["ann@example.net"]) == {"ann@example.net"}
    assert not SuppressionChange.objects.filter(change="reactivate").exists()
    assert not manual_suppression.unblock(ann.pk)


@pytest.mark.parametrize("is_blocked_first", [True, False])
def test_the_most_serious_of_several_reasons_is_kept(
    ann: Subscriber, is_blocked_first: bool
) -> None:
    if not is_blocked_first:
        apply_kind("HardBounce")
    assert manual_suppression.block(ann.pk)
    apply_kind("SpamComplaint")
    apply_kind("HardBounce")
    assert manual_suppression.unblock(ann.pk)
    assert suppression_now() == ("complaint", "provider", True)


def test_a_block_made_at_the_provider_is_lifted_too(ann: Subscriber) -> None:
    assert manual_suppression.block(ann.pk)
    apply(suppressed(origin="Customer"))
    assert manual_suppression.unblock(ann.pk)
    assert suppression_now() == ("manual", "operator", False)
    assert SuppressionChange.objects.filter(change="reactivate").exists()


@pytest.mark.parametrize("is_blocked_first", [True, False])
def test_events_before_an_opt_in_do_not_return(ann: Subscriber, is_blocked_first: bool) -> None:
    if is_blocked_first:
        assert manual_suppression.block(ann.pk)
        apply_kind("SpamComplaint")
    else:
        apply_kind("SpamComplaint")
        assert manual_suppression.block(ann.pk)
    opt_in(ann)
    assert suppression_now()[1:] == ("operator", True)

    assert manual_suppression.unblock(ann.pk)

    assert suppression_now()[1:] == ("operator", False)


def test_events_after_an_opt_in_stay(ann: Subscriber) -> None:
    apply_kind("HardBounce")
    assert manual_suppression.block(ann.pk)
    apply_kind("SpamComplaint", at=opt_in(ann) + timedelta(seconds=1))
    assert manual_suppression.unblock(ann.pk)
    assert suppression_now() == ("complaint", "provider", True)

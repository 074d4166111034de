"""The database lets only a fresh opt-in resubscribe a reader."""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from subscribers.consent.consent_log import record_consent
from subscribers.models import ConsentRecord, ConsentWording, Erasure, Subscriber, Suppression
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory

pytestmark = pytest.mark.django_db

GONE = ["bounced", "unsubscribed", "complained"]


def change(reader: Subscriber, **fields: object) -> None:
    """Update a reader without the application's checks."""
    Subscriber.objects.filter(pk=reader.pk).update(**fields)


def refused(reader: Subscriber, rule: str = "only_an_opt_in_brings_back", **to: object) -> None:
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        change(reader, **to)
    assert error.value.__cause__.diag.constraint_name == rule


def refuses_to_resubscribe(reader: Subscriber, **to: object) -> None:
    refused(reader, state="confirmed", unsubscribed_at=None, **to)


def opt_in(reader: Subscriber, how: str = "form", request: int = 1) -> int:
    """Record a sign-up and a confirmation."""
    record_consent(reader.pk, "asked", how, request=request)
    return record_consent(reader.pk, "confirmed", "link", request=request)


def refuses(message: str, attempt: Callable[[], object]) -> None:
    with pytest.raises(IntegrityError, match=message), transaction.atomic():
        attempt()


@pytest.mark.parametrize("state", GONE)
@pytest.mark.parametrize("to", ["confirmed", "pending"])
def test_a_gone_reader_cannot_be_set_to_confirmed(state: str, to: str) -> None:
    reader = SubscriberFactory(state=state)
    confirmed_at = None if to == "pending" else Now()
    refused(reader, state=to, unsubscribed_at=None, confirmed_at=confirmed_at)


@pytest.mark.parametrize("state", GONE)
def test_a_fresh_opt_in_resubscribes(state: str) -> None:
    reader = SubscriberFactory(state=state)
    opted_in = opt_in(reader)
    change(reader, state="confirmed", opt_in_id=opted_in, unsubscribed_at=None, confirmed_at=Now())
    reader.refresh_from_db()
    assert (reader.state, reader.gone_at) == ("confirmed", None)


def test_an_opt_in_requested_before_leaving_is_not_fresh() -> None:
    reader = SubscriberFactory()
    record_consent(reader.pk, "asked", "form", request=1)
    change(reader, state="unsubscribed", unsubscribed_at=Now())
    late = record_consent(reader.pk, "confirmed", "link", request=1)
    refuses_to_resubscribe(reader, opt_in_id=late)


def test_only_readers_themselves_resubscribe() -> None:
    reader = SubscriberFactory(state="unsubscribed")
    for request, how in enumerate(("operator", "import", "provider"), 1):
        refuses_to_resubscribe(reader, opt_in_id=opt_in(reader, how, request))
    refuses_to_resubscribe(reader, opt_in_id=opt_in(SubscriberFactory()))


def test_one_opt_in_resubscribes_once() -> None:
    reader = SubscriberFactory(state="unsubscribed")
    opted_in = opt_in(reader)
    change(reader, state="confirmed", opt_in_id=opted_in, unsubscribed_at=None)
    change(reader, state="unsubscribed", unsubscribed_at=Now())
    refuses_to_resubscribe(reader, opt_in_id=opted_in)


def test_only_pending_readers_themselves_confirm() -> None:
    reader = SubscriberFactory(state="pending")
    refused(reader, state="confirmed", confirmed_at=Now())
    change(reader, state="confirmed", confirmed_at=Now(), opt_in_id=opt_in(reader))


@pytest.mark.parametrize(
    ("more_serious", "less_serious"),
    [("unsubscribed", "bounced"), ("complained", "unsubscribed"), ("complained", "bounced")],
)
def test_the_more_serious_state_is_kept(more_serious: str, less_serious: str) -> None:
    refused(SubscriberFactory(state=more_serious), state=less_serious, unsubscribed_at=Now())
    change(SubscriberFactory(state=less_serious), state=more_serious, unsubscribed_at=Now())


def test_unsubscribing_is_kept_despite_a_complaint() -> None:
    reader = SubscriberFactory(state="complained", unsubscribed_at=Now())
    refused(reader, unsubscribed_at=None)


def test_the_database_sets_the_time_of_leaving() -> None:
    reader = SubscriberFactory(state="unsubscribed")
    reader.refresh_from_db()
    change(reader, gone_at=None)
    went_at = reader.gone_at
    reader.refresh_from_db()
    assert went_at is not None
    assert reader.gone_at == went_at


def test_an_address_never_changes() -> None:
    refused(SubscriberFactory(), "an_address_never_changes", email="another@example.org")


@pytest.mark.parametrize("state", ["pending", "confirmed", *GONE])
def test_only_erasure_and_expiry_delete_readers(state: str) -> None:
    reader = Subscriber.objects.filter(pk=SubscriberFactory(state=state).pk)
    if state == "pending":
        assert reader.delete()[0] == 1
    else:
        refuses("nobody is deleted but by erasure", reader.delete)


def test_consent_records_are_append_only() -> None:
    reader = SubscriberFactory()
    line = ConsentRecord.objects.filter(pk=opt_in(reader))
    refuses("a consent record stays as it is", lambda: line.update(how="import"))
    refuses("a consent record stays as it is", line.delete)


def test_only_a_mailed_link_confirms() -> None:
    with pytest.raises(IntegrityError, match="only_the_person_confirms"):
        record_consent(SubscriberFactory().pk, "confirmed", "operator", request=1)


def test_the_database_sets_the_time_of_consent() -> None:
    reader = SubscriberFactory()
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO consent_record (subscriber_id, act, how, request, at)
            VALUES (%s, 'asked', 'form', 1, now() + interval '1 year')
            RETURNING at <= clock_timestamp()
            """,
            [reader.pk],
        )
        assert cursor.fetchone() == (True,)


def test_a_wording_is_stored_once_and_unchangeable() -> None:
    reader = SubscriberFactory()
    for request in (1, 2):
        record_consent(reader.pk, "asked", "form", wording="One letter a week.", request=request)
    wording = ConsentWording.objects.get()
    assert wording.text == "One letter a week."
    words = ConsentWording.objects.all()
    refuses("a wording stays as it is", lambda: words.update(text="Two letters a week."))


def test_a_suppression_is_never_deleted_or_weakened() -> None:
    SuppressionFactory(reason="complaint")
    everything = Suppression.objects.all()
    refuses("a suppression is never deleted", everything.delete)
    refuses("a suppression is never made lighter", lambda: everything.update(reason="bounce"))


def test_only_a_later_opt_in_lifts_a_suppression() -> None:
    reader = SubscriberFactory(state="complained")
    earlier = opt_in(reader)
    SuppressionFactory(address_key=reader.email, reason="complaint")
    shut_out = Suppression.objects.all()
    somebody_elses = opt_in(SubscriberFactory())
    for lifted_by in (None, earlier, somebody_elses):
        lift = partial(shut_out.update, lifted_at=Now(), lifted_by_id=lifted_by)
        refuses("only an opt in lifts a suppression", lift)
    shut_out.update(lifted_at=Now(), lifted_by_id=opt_in(reader, request=2))


def test_an_opt_in_does_not_lift_an_operators_block() -> None:
    reader = SubscriberFactory()
    SuppressionFactory(address_key=reader.email, reason="manual", origin="operator")
    lift = partial(Suppression.objects.update, lifted_at=Now(), lifted_by_id=opt_in(reader))
    refuses("does not lift what an operator", lift)
    Suppression.objects.update(lifted_at=Now())


def test_erasing_leaves_a_hash_and_nothing_else() -> None:
    reader = SubscriberFactory(state="unsubscribed")
    opt_in(reader)
    SuppressionFactory(address_key=reader.email)
    with connection.cursor() as cursor:
        cursor.execute("SELECT erase_subscriber_1(%s, %s)", [reader.pk, b"hashed"])
        assert cursor.fetchone() == (True,)
    assert bytes(Erasure.objects.get().address_hash) == b"hashed"
    for model in (Subscriber, ConsentRecord, Suppression):
        assert not model.objects.exists()
    # One erasure does not permit another deletion.
    SubscriberFactory()
    refuses("nobody is deleted but by erasure", Subscriber.objects.all().delete)
    refuses("an erasure stays", Erasure.objects.all().delete)

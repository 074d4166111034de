"""Readers whom an author adds, edits, or moves to another address."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import transaction

from delivery.models import Delivery, Edition
from publishing.activity.activity_sentences import plain_sentence_of
from subscribers.data_requests.erase import erase
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.data_requests.personal_data_sentences import describe
from subscribers.models import ConsentRecord, ReaderFieldDefinition, Subscriber, Tag
from tests.publishing.author_browser import WindowOf
from tests.publishing.second_connection import PATIENCE_S, beside, wait_until_somebody_waits
from tests.subscribers.factories import SubscriberFactory, SuppressionFactory
from tests.subscribers.signup_browser import ADA, press

pytestmark = pytest.mark.django_db
READERS = "/admin/newsletters/readers/"
ADD = f"{READERS}add/"
GRACE = "grace@posthouse.example.org"


@pytest.fixture
def birds() -> int:
    """Add a field and a topic."""
    ReaderFieldDefinition.objects.create(key="city", label="City", position=1)
    return Tag.objects.create(name="Birds", is_topic=True).pk


def ada() -> Subscriber:
    return Subscriber.objects.get(email_key=ADA)


def mails() -> int:
    return Delivery.objects.filter(issue__in=Edition.objects.values("issue")).count()


def test_an_added_reader_is_asked_to_confirm(window: WindowOf, birds: int) -> None:
    page = window.post(ADD, email=ADA, name=" Ada  W. ", tags=str(birds), **{"field-city": "Lyon"})
    assert page.status == 303, page.words
    reader = ada()
    assert (reader.state, reader.source, reader.name) == ("pending", "desk", "Ada W.")
    assert (reader.fields, reader.tags, mails()) == ({"city": "Lyon"}, [birds], 1)
    asked = ConsentRecord.objects.get()
    assert (asked.act, asked.how, asked.detail) == (
        "asked",
        "operator",
        "Requested by Edith Marlow.",
    )
    assert plain_sentence_of(LogEntry.objects.get()) == (
        f"Edith Marlow added subscriber {reader.pk}."
    )
    data = load_personal_data(reader.pk)
    assert data is not None
    assert describe(data)["source"] == "Added by an author"
    press(reader)
    assert (ada().state, ada().tags) == ("confirmed", [birds])


def test_a_stated_consent_is_recorded_and_confirms(window: WindowOf) -> None:
    for half in ({"consent": "on", "where": "  "}, {"where": "at the fair"}):
        assert 'class="error"' in window.post(ADD, email=ADA, **half).source
    assert not Subscriber.objects.exists()
    assert window.post(ADD, email=ADA, consent="on", where=" at  the fair").status == 303
    assert (ada().state, mails()) == ("confirmed", 0)
    [stated] = ConsentRecord.objects.all()
    assert (stated.act, stated.how) == ("stated", "operator")
    assert stated.detail == "Consent given elsewhere, stated by Edith Marlow: at the fair"


def test_adding_explains_who_is_not_added(window: WindowOf) -> None:
    SubscriberFactory(email=ADA)
    SubscriberFactory(email="left@example.org", state="unsubscribed")
    for address, why in {
        ADA.upper(): "This reader is already on the list.",
        "left@example.org": "This reader unsubscribed.",
        "no address": "The address has no @ sign.",
    }.items():
        page = window.post(ADD, email=address, consent="on", where="at the fair")
        assert (page.status, why in page.words) == (200, True), page.words
    assert Subscriber.objects.count() == 2


def test_an_edit_changes_fields_and_tags(window: WindowOf, birds: int) -> None:
    other = Tag.objects.create(name="Press").pk
    reader = SubscriberFactory(email=ADA, fields={"city": "Lyon", "old": "kept"}, tags=[other])
    url = f"{READERS}{reader.pk}/edit/"
    assert 'value="Lyon"' in window.get(url).source
    assert window.post(url, name="Grace", tags=str(birds), seen="").status == 303
    assert (ada().name, ada().fields, ada().tags) == ("Grace", {"old": "kept"}, [birds])
    assert ada().state == "confirmed"
    assert plain_sentence_of(LogEntry.objects.get()) == (
        f"Edith Marlow edited subscriber {reader.pk}."
    )
    assert 'class="error"' in window.post(url, name="x" * 257).source


def test_a_left_topic_cannot_be_put_on(window: WindowOf, birds: int) -> None:
    reader = SubscriberFactory(email=ADA, left_topics=[birds])
    url = f"{READERS}{reader.pk}/edit/"
    page = window.get(url)
    assert "The reader left the topic “Birds”." in page.words
    assert 'type="checkbox"' not in page.source
    assert window.post(url, name="Ada", tags=str(birds)).status == 303
    assert (ada().name, ada().tags) == ("Ada", [])


def test_an_edit_overwrites_no_later_change(window: WindowOf) -> None:
    reader = SubscriberFactory(email=ADA, name="Ada")
    Subscriber.objects.filter(pk=reader.pk).update(name="Countess")
    page = window.post(f"{READERS}{reader.pk}/edit/", name="Adda", seen="")
    assert page.status == 200
    assert "Nothing was saved, because the reader changed" in page.words
    assert 'value="Countess"' in page.source
    assert ada().name == "Countess"


@pytest.mark.parametrize("state", ["confirmed", "pending", "bounced"])
def test_a_corrected_address_must_confirm_again(window: WindowOf, birds: int, state: str) -> None:
    old = SubscriberFactory(email=ADA, state=state, fields={"city": "Lyon"}, left_topics=[birds])
    page = window.post(f"{READERS}{old.pk}/address/", email=GRACE)
    new = Subscriber.objects.get(email_key=GRACE)
    assert page.answer.headers["Location"] == f"{READERS}{new.pk}/"
    assert (new.state, new.fields, new.left_topics) == ("pending", {"city": "Lyon"}, [birds])
    assert (ada().state, mails()) == ("unsubscribed", 1)
    held = load_personal_data(new.pk)
    assert held is not None
    assert f"The other address is reader {old.pk}." in str(describe(held)["sections"])
    sentences = {plain_sentence_of(entry) for entry in LogEntry.objects.all()}
    assert f"Edith Marlow corrected the address of subscriber {old.pk}." in sentences
    # The history stays with the old address, and the pages of both addresses lead to each other.
    for one, other in ((old, new), (new, old)):
        assert f'href="{READERS}{other.pk}/"' in window.get(f"{READERS}{one.pk}/").html
    press(new)
    assert Subscriber.objects.get(email_key=GRACE).state == "confirmed"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (ADA.upper(), "The reader has this address already."),
        ("known@example.org", "Another reader has this address."),
        ("shut@example.org", "The address is suppressed: mail to it bounced."),
    ],
)
def test_an_address_in_use_or_suppressed_is_refused(
    window: WindowOf, address: str, why: str
) -> None:
    reader = SubscriberFactory(email=ADA)
    SubscriberFactory(email="known@example.org")
    SuppressionFactory(address_key="shut@example.org")
    page = window.post(f"{READERS}{reader.pk}/address/", email=address)
    assert why in page.words
    assert ("See the reader with this address" in page.words) is address.startswith("known")
    assert (Subscriber.objects.count(), ada().state) == (2, "confirmed")


@pytest.mark.parametrize("state", ["unsubscribed", "complained", "pending"])
def test_a_reader_who_left_gets_no_other_address(window: WindowOf, state: str) -> None:
    reader = SubscriberFactory(email=ADA, state=state)
    if state == "pending":  # a file says that they left elsewhere
        SuppressionFactory(address_key=ADA, reason="unsubscribe", origin="import")
    for page in (
        window.get(f"{READERS}{reader.pk}/address/"),
        window.post(f"{READERS}{reader.pk}/address/", email=GRACE),
    ):
        assert "Only they can sign up with another address." in page.words
    assert "Correct the address" not in window.get(f"{READERS}{reader.pk}/").words
    assert Subscriber.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_reader_who_is_erased_meanwhile_is_not_moved(window: WindowOf) -> None:
    reader = SubscriberFactory(email=ADA)
    with transaction.atomic():
        erase(reader.pk)
        moving = beside(lambda: window.post(f"{READERS}{reader.pk}/address/", email=GRACE))
        wait_until_somebody_waits(moving)
    assert "The reader was erased meanwhile." in moving.result(PATIENCE_S).words
    assert not Subscriber.objects.exists()

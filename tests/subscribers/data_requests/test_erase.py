"""Erasure: only a keyed hash and anonymous counts stay."""

import logging
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.conf import LazySettings
from django.db import connection, transaction
from django.test import Client

from delivery.feedback import event_inbox
from delivery.interface import reason_sentence
from delivery.models import Delivery, Edition
from postmark_sandbox.server import SandboxServer
from subscribers.consent.consent_log import record_consent
from subscribers.data_requests.erase import erase, erased_among, hash_of
from subscribers.data_requests.personal_data import load_personal_data
from subscribers.data_requests.personal_data_sentences import describe
from subscribers.importing.accept_upload import Statement
from subscribers.importing.import_file import import_file
from subscribers.leaving.leave import leave
from subscribers.links.unsubscribe_token import token_for
from subscribers.models import (
    Bounce,
    ConsentRecord,
    Erasure,
    ReaderFieldDefinition,
    RejectedRow,
    Subscriber,
    SubscriberImport,
)
from subscribers.signup.sign_up import sign_up
from tests.delivery.conftest import newsroom, provider
from tests.delivery.edition_factory import Newsroom
from tests.delivery.queue.test_start_call import a_call_held_by
from tests.delivery.webhook_events import event, key_of
from tests.publishing.second_connection import PATIENCE_S, beside
from tests.subscribers.conftest import ImportRows
from tests.subscribers.factories import (
    SOME_DAY,
    SubscriberFactory,
    SubscriberImportFactory,
    SuppressionFactory,
)
from tests.subscribers.search_all_tables import tables_that_hold
from tests.subscribers.signup_browser import link, visitor

__all__ = ["newsroom", "provider"]

pytestmark = pytest.mark.django_db

ADDRESS = "Miriam.Arroia@posthouse.example.org"
NAME = "Miriam Arroia"
NOBODY_IN_PARTICULAR = "reader1@example.net"


@contextmanager
def erasing_waits_for(newsroom: Newsroom, reader: Subscriber) -> Iterator[None]:
    """Begin an erasure while the block's transaction is open."""
    with transaction.atomic():
        yield
        erasing = beside(lambda: erase(reader.pk))
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
    assert erasing.result(PATIENCE_S)
    assert tables_that_hold(reader.email) == []


def reader_with_history() -> Subscriber:
    """Make a reader with data in many tables."""
    reader = SubscriberFactory(email=ADDRESS, name=NAME)
    record_consent(
        reader.pk, "asked", "form", request=1, values={"name": NAME}, wording="One letter a week."
    )
    record_consent(reader.pk, "left", "link", detail=f"{ADDRESS} wrote to us")
    SuppressionFactory(address_key=ADDRESS.lower(), reason="complaint")
    Bounce.objects.create(
        subscriber=reader, type="HardBounce", inactive=True, at=SOME_DAY, description=ADDRESS
    )
    for line, (result, email) in enumerate(
        [("skipped", ADDRESS.upper()), ("rejected", f"{NAME} <{ADDRESS}")]
    ):
        RejectedRow.objects.create(
            subscriber_import=SubscriberImportFactory(),
            line=line,
            result=result,
            email=email,
            reason="Left out.",
            parameters={"row": [f"<{ADDRESS}>", NAME]},
        )
    return reader


def test_erasure_removes_only_this_reader_everywhere() -> None:
    reader = reader_with_history()
    leave(reader.pk)
    other = SubscriberFactory(email="miriam@posthouse.example.org")
    record_consent(other.pk, "asked", "form", request=1)
    RejectedRow.objects.create(
        subscriber_import=SubscriberImportFactory(),
        line=9,
        result="skipped",
        email=other.email,
        reason="Belongs to another reader.",
    )
    places = {"subscriber", "consent_record", "suppression", "bounce", "rejected_row"}
    # Check that the search finds the reader before the erasure.
    assert {*places, "suppression_change"} <= set(tables_that_hold(ADDRESS))
    assert tables_that_hold(NAME)

    assert erase(reader.pk)

    assert tables_that_hold(ADDRESS) == tables_that_hold(NAME) == []
    assert ConsentRecord.objects.get().subscriber_id == other.pk
    assert set(tables_that_hold(other.email)) == {"subscriber", "rejected_row"}
    # The counts of an import do not change.
    assert RejectedRow.objects.filter(email="", reason="Left out.").count() == 2
    assert not erase(reader.pk)
    assert Erasure.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_rejected_rows_of_a_reader_are_shown_and_erased(import_rows: ImportRows) -> None:
    key = "ada@xn--exmple-cua.com"
    reader = SubscriberFactory(email=key)
    import_rows(
        "'Ada <ADA@EXÄMPLE.com>,Shown 1,enabld",
        f'{key},"Shown 2,active',
        "bob@@example.org,Friend of ada@exämple.com,active",
        "bob@example.org,Bob,Ada@exämple.com",
        "nada@exämple.com,Nada,enabld",
        header="email,name,status",
        name="old.csv",
    )

    data = load_personal_data(reader.pk)

    assert data is not None
    assert [(row["file"], row["line"]) for row in data.rejected_rows] == [
        ("old.csv", 2),
        ("old.csv", 3),
    ]
    [rows] = [one for one in describe(data, to_reader=True)["sections"] if one["id"] == "rows"]
    assert [one["details"][0] for one in rows["rows"]] == [
        "'Ada <ADA@EXÄMPLE.com>, Shown 1, enabld",
        f'{key},"Shown 2,active',
    ]
    assert b"Shown 2" in data.as_json()
    assert erase(reader.pk)
    for text in (key, "ada@exämple.com", "Ada@EXÄMPLE.com", "Shown"):
        assert tables_that_hold(text) == [], text
    assert [row.line for row in RejectedRow.objects.order_by("line")] == [2, 3, 4, 5, 6]


def test_erasure_leaves_a_keyed_hash(settings: LazySettings) -> None:
    settings.SECRET_KEY = earlier = "one key, long enough for a test of its own: 0123456789"
    erase(SubscriberFactory(email=ADDRESS).pk)
    kept = bytes(Erasure.objects.get().address_hash)
    assert kept == hash_of(ADDRESS.upper())
    settings.SECRET_KEY = "another key, long enough for a test of its own: 987654"
    assert hash_of(ADDRESS) != kept
    asked = [ADDRESS.lower(), "somebody.else@posthouse.example.org"]
    assert erased_among(asked) == set()
    settings.SECRET_KEY_FALLBACKS = [earlier]
    assert erased_among(asked) == {ADDRESS.lower()}


def test_the_log_of_an_erasure_has_no_address(
    caplog: pytest.LogCaptureFixture, settings: LazySettings
) -> None:
    page = (settings.BASE_DIR / "docs" / "restore.md").read_text()
    (pattern,) = re.findall(r"grep -o '(.*)'", page)
    reader = SubscriberFactory(email=ADDRESS, name=NAME)
    with caplog.at_level(logging.DEBUG):
        erase(reader.pk)
    assert re.findall(pattern, caplog.text) == [f"reader {reader.pk} was erased"]
    assert "posthouse" not in caplog.text
    assert NAME not in caplog.text


def test_the_unsubscribe_link_of_an_erased_reader_shows_unsubscribed() -> None:
    reader = SubscriberFactory(email=ADDRESS)
    link = f"/unsubscribe/{token_for(reader.pk)}/"
    erase(reader.pk)
    for page in (Client().get(link), Client().post(link)):
        assert page.status_code == 200
        assert b"You are off the list" in page.content
        assert b"posthouse" not in page.content


@pytest.mark.parametrize("has_signed_up_again", [False, True])
def test_a_confirmation_link_of_an_erased_reader_is_too_old(has_signed_up_again: bool) -> None:
    assert sign_up(ADDRESS, {"name": NAME}, "form", "", "One letter a week.") == 0
    reader = Subscriber.objects.get()
    erase(reader.pk)
    if has_signed_up_again:
        SubscriberFactory(email=ADDRESS, name="", state="pending")

    for page in (visitor().get(link(reader, 1)), visitor().post(link(reader, 1))):
        assert page.status_code == 200
        assert "This link is too old" in page.text
        assert "posthouse" not in page.text
    states = list(Subscriber.objects.values_list("state", flat=True))
    assert states == ["pending"] * has_signed_up_again
    assert tables_that_hold(NAME) == []
    assert not ConsentRecord.objects.exists()
    assert erased_among([ADDRESS.lower()])


def reader_one() -> Subscriber:
    return Subscriber.objects.get(email=NOBODY_IN_PARTICULAR)


def test_all_copies_of_an_erased_reader_lose_address_and_name(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    for _ in range(2):
        newsroom.publish(readers=2)
    newsroom.deliver_all()
    waiting = newsroom.publish()
    reader = reader_one()

    erase(reader.pk)
    newsroom.deliver_all()

    copies = Delivery.objects.filter(recipient=reader.pk)
    assert set(copies.values_list("outcome", "address", "name")) == {
        ("sent", "", ""),
        ("withdrawn", "", ""),
    }
    assert not Delivery.objects.exclude(recipient=reader.pk).filter(address="").exists()
    assert newsroom.counts(waiting).withdrawn == 1
    assert newsroom.counts(waiting).balanced


def test_erasure_removes_every_value_of_every_own_field(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    keys = ["city", "plan", "size"]
    for position, key in enumerate(keys, 1):
        ReaderFieldDefinition.objects.create(key=key, label=key, position=position)
    gone, other = newsroom.confirm(2)
    for reader in (gone, other):
        values = {key: f"{key} of {reader.email}" for key in keys}
        Subscriber.objects.filter(pk=reader.pk).update(fields=values)
        record_consent(reader.pk, "asked", "form", request=1, values=values)
    newsroom.publish(html="{{ city }} {{ plan }} {{ size }}")
    newsroom.deliver_all()
    newsroom.publish(html="{{ size }} {{ city }}", hold_s=60)
    places = {"subscriber", "consent_record", "delivery"}
    assert all(places <= {*tables_that_hold(f"{key} of {gone.email}")} for key in keys)

    assert erase(gone.pk)

    assert [tables_that_hold(f"{key} of {gone.email}") for key in keys] == [[]] * 3
    assert all(places <= {*tables_that_hold(f"{key} of {other.email}")} for key in keys)


def test_a_call_is_settled_for_an_erased_reader(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=3)
    with a_call_held_by(provider, newsroom, "after_accept"):
        erase(reader_one().pk)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert newsroom.counts(edition).sent == 3
    assert tables_that_hold(NOBODY_IN_PARTICULAR) == []


def test_a_refusal_does_not_restore_an_erased_address(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    refused = SubscriberFactory(email="two..dots@example.net")
    edition = newsroom.publish(readers=1)
    with a_call_held_by(provider, newsroom, "before_accept"):
        erase(refused.pk)
    assert sorted(newsroom.outcomes(edition)) == ["failed", "sent"]
    reason = reason_sentence(Delivery.objects.get(outcome="failed").reason)
    assert "Invalid 'To' address" in reason
    assert tables_that_hold("two..dots") == []


def test_erasure_removes_reasons_that_quote_the_address(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    newsroom.publish(readers=2)
    Delivery.objects.filter(address=NOBODY_IN_PARTICULAR).update(
        outcome="failed", reason=f"Refused: {NOBODY_IN_PARTICULAR.upper()} is nobody."
    )
    erase(reader_one().pk)
    assert tables_that_hold(NOBODY_IN_PARTICULAR) == []


def test_a_concurrent_publication_excludes_an_erased_reader(newsroom: Newsroom) -> None:
    newsroom.confirm(2)
    reader = reader_one()
    with erasing_waits_for(newsroom, reader):
        newsroom.publish()
    assert Delivery.objects.filter(recipient=reader.pk, address="").count() == 1


def test_erasure_waits_for_an_import_that_read_erased_addresses(
    newsroom: Newsroom, tmp_path: Path
) -> None:
    """The import waits for a sign-up and then adds the erased address."""
    reader = newsroom.confirm(1)[0]
    file = tmp_path / "readers.csv"
    # Put other rows first. An import keeps its first rows as samples, and if a sample had the
    # address, the erasure would wait in any case.
    others = "".join(f"ada{number}@example.org,Ada\n" for number in range(5))
    file.write_text(f"email,name\n{others}{reader.email},Somebody\n")

    with transaction.atomic():
        SubscriberFactory(email="ada0@example.org", state="pending")
        importing = beside(lambda: import_file(file, stated=Statement(confirmed=True)))
        newsroom.wait_for_a_backend_that_waits_for_a_lock()
        erasing = beside(lambda: erase(reader.pk))
        newsroom.wait_for_a_backend_that_waits_for_a_lock(sessions=2)
    importing.result(PATIENCE_S)
    erasing.result(PATIENCE_S)

    assert SubscriberImport.objects.get().known == 2
    assert tables_that_hold(reader.email) == []


def test_erasure_includes_rows_added_while_it_waited_for_the_lock(newsroom: Newsroom) -> None:
    reader = newsroom.confirm(1)[0]
    with erasing_waits_for(newsroom, reader):
        leave(reader.pk)
        event_inbox.store(an_event("Bounce", reader.email))


def test_erasure_includes_a_mail_that_is_being_requested(newsroom: Newsroom) -> None:
    reader = newsroom.confirm(1)[0]
    with erasing_waits_for(newsroom, reader):
        assert sign_up(reader.email, {"name": NAME}, "form", "", "One letter a week.") == 0
    assert tables_that_hold(NAME) == []
    assert Delivery.objects.get().recipient_id == reader.pk


def test_erasure_does_not_wait_for_an_event_being_applied(newsroom: Newsroom) -> None:
    """The worker locks the event and waits for the reader that the erasure locked."""
    reader = newsroom.confirm(1)[0]
    event = event_inbox.store(an_event("Bounce", reader.email))
    assert event is not None
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT FROM provider_event FOR UPDATE")
        assert beside(lambda: erase(reader.pk)).result(PATIENCE_S)

    assert event_inbox.apply(event)
    assert tables_that_hold(reader.email) == []


def test_an_erasure_is_all_or_nothing(newsroom: Newsroom) -> None:
    reader = newsroom.confirm(1)[0]
    newsroom.publish()
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'no'; END $$; "
            "CREATE TRIGGER no BEFORE DELETE ON subscriber FOR EACH ROW EXECUTE FUNCTION no()"
        )
        try:
            with pytest.raises(Exception, match="no"):
                erase(reader.pk)
        finally:
            cursor.execute("DROP FUNCTION no() CASCADE")

    assert Delivery.objects.get().address == reader.email
    assert not Erasure.objects.exists()


def an_event(
    kind: str, address: str, edition: Edition | None = None, reader: int = 0, number: int = 4711
) -> bytes:
    """Make a Postmark event about an address or a delivery."""
    copy, message, more = "", str(uuid.uuid4()), {"Metadata": {}}
    if edition is not None:
        sent = Delivery.objects.get(issue=edition.issue_id, recipient=reader)
        copy, message, more = key_of(edition, reader), sent.provider_message_id or message, {}
    address_of_both = {"Recipient": address, "Email": address}
    suppressed = {"SuppressSending": True, "SuppressionReason": "HardBounce", "Type": "HardBounce"}
    more |= {"ID": number, "Origin": "Recipient"}
    body = event(copy, message, record_type=kind, **address_of_both, **suppressed, **more)
    return orjson.dumps(body)


# Events of the last two kinds have no effect, but contain the address.
KINDS = ["Delivery", "Bounce", "SpamComplaint", "SubscriptionChange", "Open", "Click"]


def report(kind: str, address: str, *more: Any) -> None:
    event = event_inbox.store(an_event(kind, address, *more))
    assert event is not None
    assert event_inbox.apply(event)


def test_later_provider_events_do_not_restore_an_erased_address(
    newsroom: Newsroom, provider: SandboxServer
) -> None:
    edition = newsroom.publish(readers=2)
    newsroom.deliver_all()
    reader = reader_one()
    for kind in KINDS:
        report(kind, NOBODY_IN_PARTICULAR, edition, reader.pk)
    assert "provider_event" in tables_that_hold(NOBODY_IN_PARTICULAR)

    erase(reader.pk)

    assert tables_that_hold(NOBODY_IN_PARTICULAR) == []
    for kind in KINDS:
        report(kind, NOBODY_IN_PARTICULAR, edition, reader.pk, 4712)
        assert tables_that_hold(NOBODY_IN_PARTICULAR) == [], kind
    assert newsroom.counts(edition).sent == 2


@pytest.mark.parametrize(("named_in", "kind"), [("Recipient", "AKindOfTomorrow"), ("Email", 7)])
def test_erasure_removes_unknown_events(newsroom: Newsroom, named_in: str, kind: object) -> None:
    reader = newsroom.confirm(1)[0]
    event = orjson.dumps({"RecordType": kind, named_in: reader.email.upper()})
    assert event_inbox.store(event) is not None
    event_inbox.apply_pending()
    assert load_personal_data(reader.pk).provider_events[0]["body"] == event.decode()  # type: ignore[union-attr]
    erase(reader.pk)
    assert tables_that_hold(reader.email) == []


def test_a_bounce_after_erasure_and_new_sign_up_is_stored(newsroom: Newsroom) -> None:
    erase(newsroom.confirm(1, start=1)[0].pk)
    again = newsroom.confirm(1, start=1)[0]
    report("Bounce", NOBODY_IN_PARTICULAR)
    again.refresh_from_db()
    assert again.state == "bounced"

"""Editions over SMTP: sent once, and unconfirmed copies that wait for a decision."""

from typing import Any

import pytest

from delivery.models import Alarm, Delivery, Evidence
from delivery.queue.edition_control import resend_unknown
from delivery.queue.record_evidence import record_acceptances, treat_as_sent
from delivery.queue.short_transaction import lock_edition, short_transaction
from delivery.rules.outcomes import Sent
from tests.delivery.django_mail.smtp_server import CUT, SmtpServer
from tests.delivery.edition_factory import Newsroom, copies_of

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def newsroom(django_mail: SmtpServer, settings: Any) -> Newsroom:
    settings.DELIVERY_BATCH_SIZE = 3
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0, 300.0, 900.0)
    return Newsroom()


def test_every_reader_gets_one_copy(newsroom: Newsroom, server: SmtpServer) -> None:
    edition = newsroom.publish(readers=7)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 7
    assert sorted(server.recipients) == [f"reader{number}@example.net" for number in range(7)]
    assert {copy.evidence for copy in copies_of(edition)} == {"reply"}
    assert len({copy.provider_message_id for copy in copies_of(edition)}) == 7
    assert newsroom.counts(edition).balanced


def test_what_did_not_leave_is_sent_later_without_a_try(
    newsroom: Newsroom, server: SmtpServer
) -> None:
    server.answers = {("RCPT", "reader1@example.net"): "421 4.7.0 Closing"}
    edition = newsroom.publish(readers=3)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "waiting", "waiting"]
    server.answers = {}
    newsroom.deliver_after(10)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert len(server.recipients) == 3


@pytest.fixture
def unconfirmed(newsroom: Newsroom, server: SmtpServer) -> Any:
    """Publish to three readers, and lose the reply about the second."""
    server.answers = {("DATA", "reader1@example.net"): CUT}
    edition = newsroom.publish(readers=3)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent", "unknown", "sent"]
    server.answers = {}
    newsroom.deliver_after(61)
    return edition


def test_a_lost_reply_waits_for_a_decision(
    newsroom: Newsroom, server: SmtpServer, unconfirmed: Any
) -> None:
    # The copy that certainly did not leave is sent meanwhile.
    assert newsroom.outcomes(unconfirmed) == ["sent", "unknown", "sent"]
    newsroom.deliver_after(100_000)
    assert newsroom.outcomes(unconfirmed) == ["sent", "unknown", "sent"]
    assert len(server.recipients) == 3
    assert newsroom.counts(unconfirmed).parked_batches == 1


def test_an_unconfirmed_copy_may_be_sent_again(
    newsroom: Newsroom, server: SmtpServer, unconfirmed: Any
) -> None:
    assert resend_unknown(unconfirmed.pk) == 1
    newsroom.deliver_all()
    assert newsroom.outcomes(unconfirmed) == ["sent"] * 3
    assert server.recipients.count("reader1@example.net") == 2
    assert newsroom.counts(unconfirmed).balanced


def test_an_unconfirmed_copy_may_count_as_sent(
    newsroom: Newsroom, server: SmtpServer, unconfirmed: Any
) -> None:
    assert treat_as_sent(unconfirmed.pk) == 1
    newsroom.deliver_after(1000)
    assert newsroom.outcomes(unconfirmed) == ["sent"] * 3
    assert server.recipients.count("reader1@example.net") == 1
    decided = Delivery.objects.get(address="reader1@example.net", issue=unconfirmed.issue_id)
    assert (decided.evidence, decided.provider_message_id[:8]) == ("operator", "decided:")
    assert treat_as_sent(unconfirmed.pk) == 0
    assert newsroom.state(unconfirmed) == "succeeded"
    assert newsroom.counts(unconfirmed).balanced


def test_only_parked_copies_count_as_sent(
    newsroom: Newsroom, server: SmtpServer, settings: Any
) -> None:
    server.answers = {("DATA", "reader0@example.net"): CUT}
    edition = newsroom.publish(readers=1)
    newsroom.step()
    assert newsroom.outcomes(edition) == ["unknown"]
    assert treat_as_sent(edition.pk) == 0


def test_a_report_after_the_decision_is_no_second_copy(
    newsroom: Newsroom, unconfirmed: Any
) -> None:
    treat_as_sent(unconfirmed.pk)
    recipient = Delivery.objects.get(address="reader1@example.net").recipient_id
    with short_transaction() as cursor:
        lock_edition(cursor, unconfirmed.pk)
        report = [(recipient, Sent("reported", None))]
        record_acceptances(cursor, unconfirmed.pk, None, report, Evidence.Source.WEBHOOK)
    assert not Alarm.objects.exists()
    with short_transaction() as cursor:
        lock_edition(cursor, unconfirmed.pk)
        report = [(recipient, Sent("reported again", None))]
        record_acceptances(cursor, unconfirmed.pk, None, report, Evidence.Source.WEBHOOK)
    assert Alarm.objects.get().kind == Alarm.Kind.ACCEPTED_TWICE

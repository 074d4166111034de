"""Commands that show and settle alarms and events that wait for an operator."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from delivery.feedback import event_inbox
from delivery.models import Alarm, ProviderEvent
from delivery.monitoring.alarms import raise_alarm
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom


def output_of(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_alarms_are_listed_until_an_operator_acknowledges_them(newsroom: Newsroom) -> None:
    assert output_of("alarms") == "There are no open alarms.\n"
    newsroom.confirm(1)
    first, second = newsroom.publish(title="One"), newsroom.publish(title="Two")
    with transaction.atomic(), connection.cursor() as cursor:
        for edition in (first, second):
            raise_alarm(
                cursor, edition.pk, Alarm.Kind.ACCEPTED_TWICE, "m-1", because("Two copies.")
            )
    assert output_of("alarms").count("accepted_twice") == 2
    assert "1 alarm of this issue was acknowledged." in output_of(
        "alarms", "--looked-at", str(first.issue_id)
    )
    listed = output_of("alarms")
    assert str(first.issue_id) not in listed
    assert str(second.issue_id) in listed
    output_of("alarms", "--looked-at", str(second.issue_id))
    assert output_of("alarms") == "There are no open alarms.\n"
    assert Alarm.objects.count() == 2


def test_an_issue_is_named_by_its_id(db: None) -> None:
    with pytest.raises(CommandError, match="“swifts” is not the id of an issue"):
        call_command("alarms", "--looked-at", "swifts")


def test_quarantined_events_are_listed_and_tried_again(transactional_db: None) -> None:
    event = event_inbox.store(b'{"RecordType": "Delivery"}')
    assert output_of("events") == "No event has failed.\n"
    ProviderEvent.objects.update(failures=event_inbox.MAX_FAILURES)
    assert f"event {event}  Delivery" in output_of("events")
    assert output_of("events", "--again") == "1 event is queued for another try.\n"
    assert output_of("events") == "No event has failed.\n"
    assert event_inbox.apply_pending() == 1

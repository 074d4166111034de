"""With which sentence the desk's page of a reader begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from subscribers.data_requests.personal_data import ProvidersWord, Record, ShutOut, record_of
from subscribers.desk.reader_sentence import SHUT_OUT, standing_of
from subscribers.models import Subscriber
from tests.subscribers.factories import SOME_DAY, SubscriberFactory

pytestmark = pytest.mark.django_db
AT_THE_DESK = ShutOut("manual", "operator", SOME_DAY, None)
BY_THE_PROVIDER = ShutOut("bounce", "provider", SOME_DAY, None)
REFUSES = ProvidersWord("broadcast", refuses=True, reason="ManualSuppression", at=SOME_DAY)


@pytest.fixture
def reader() -> Record:
    """What is held about somebody who confirmed."""
    held = record_of(SubscriberFactory().pk)
    assert held is not None
    return held


def test_only_of_who_gets_letters_it_is_said_and_drawn_as_well(reader: Record) -> None:
    standings = {
        state: standing_of(replace(reader, state=state)) for state in Subscriber.State.values
    }
    assert [state for state, standing in standings.items() if standing.tone == "sent"] == [
        "confirmed"
    ]
    assert standings.pop("confirmed").sentence == "Confirmed. Every letter goes there."
    assert all("No letter goes there" in standing.sentence for standing in standings.values())


@pytest.mark.parametrize("state", Subscriber.State.values)
def test_who_was_shut_out_at_the_desk_is_said_to_be_wherever_they_stand(
    reader: Record, state: str
) -> None:
    standing = standing_of(replace(reader, state=state, shut_out=AT_THE_DESK))
    assert standing.sentence.endswith(SHUT_OUT)
    assert "Every letter" not in standing.sentence
    assert standing.tone == "fault"


def test_what_was_lifted_is_not_said_any_more(reader: Record) -> None:
    lifted = replace(AT_THE_DESK, lifted_at=SOME_DAY)
    assert standing_of(replace(reader, shut_out=lifted)) == standing_of(reader)


def test_a_confirmed_reader_whom_the_provider_refuses_gets_nothing_and_that_is_said(
    reader: Record,
) -> None:
    shut = standing_of(replace(reader, shut_out=BY_THE_PROVIDER))
    refused = standing_of(replace(reader, provider_says=[REFUSES]))
    taken = standing_of(replace(reader, provider_says=[replace(REFUSES, refuses=False)]))
    assert shut.sentence == "Confirmed, and yet no letter goes there: mail to it bounces."
    assert "refuses the address on the stream “broadcast”" in refused.sentence
    assert (shut.tone, refused.tone) == ("fault", "fault")
    assert taken == standing_of(reader)

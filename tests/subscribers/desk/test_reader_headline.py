"""The first sentence of a reader's page on the desk."""

from dataclasses import replace

import pytest

from subscribers.data_requests.personal_data import PersonalData, load_personal_data
from subscribers.desk.reader_headline import BLOCKED, reader_headline
from subscribers.models import Subscriber
from tests.delivery.conftest import newsroom, provider
from tests.delivery.edition_factory import Newsroom
from tests.subscribers.factories import SOME_DAY, SubscriberFactory

__all__ = ["newsroom", "provider"]

pytestmark = pytest.mark.django_db
AT_THE_DESK = {"reason": "manual", "origin": "operator", "at": SOME_DAY, "lifted_at": None}
BY_THE_PROVIDER = {"reason": "bounce", "origin": "provider", "at": SOME_DAY, "lifted_at": None}
REFUSES = {"stream": "broadcast", "refuses": True}


@pytest.fixture
def reader() -> PersonalData:
    """Create a confirmed reader, and return the reader's personal data."""
    held = load_personal_data(SubscriberFactory().pk)
    assert held is not None
    return held


def test_only_confirmed_readers_are_shown_as_getting_letters(reader: PersonalData) -> None:
    standings = {
        state: reader_headline(replace(reader, state=state)) for state in Subscriber.State.values
    }
    assert [state for state, standing in standings.items() if standing.tone == "sent"] == [
        "confirmed"
    ]
    assert standings.pop("confirmed").words == "Confirmed. The reader gets letters."
    assert all("gets no letters" in standing.words for standing in standings.values())


@pytest.mark.parametrize("state", Subscriber.State.values)
def test_blocked_reader_is_shown_as_blocked_in_every_state(
    reader: PersonalData, state: str
) -> None:
    standing = reader_headline(replace(reader, state=state, suppression=AT_THE_DESK))
    assert standing.words.endswith(str(BLOCKED))
    assert "every letter" not in standing.words
    assert standing.tone == "fault"


def test_a_lifted_suppression_is_not_shown(reader: PersonalData) -> None:
    lifted = AT_THE_DESK | {"lifted_at": SOME_DAY}
    assert reader_headline(replace(reader, suppression=lifted)) == reader_headline(reader)


def test_the_headline_explains_a_refusal_by_the_provider(reader: PersonalData) -> None:
    shut = reader_headline(replace(reader, suppression=BY_THE_PROVIDER))
    refused = reader_headline(replace(reader, provider_suppressions=[REFUSES]))
    headline = reader_headline(
        replace(reader, provider_suppressions=[REFUSES | {"refuses": False}])
    )
    sentence = "Confirmed, but the address is suppressed and gets no letters: mail to it bounced."
    assert shut.words == sentence
    assert "does not deliver to this address (stream “broadcast”)" in refused.words
    assert (shut.tone, refused.tone) == ("fault", "fault")
    assert headline == reader_headline(reader)


def test_the_headline_reports_a_refusal_of_the_latest_letter(newsroom: Newsroom) -> None:
    refused, other = newsroom.confirm(2, addresses={0: "inactive@bounce.example"})
    edition = newsroom.publish()
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["suppressed", "sent"]

    data, others_data = (load_personal_data(one.pk) for one in (refused, other))
    assert data is not None
    assert others_data is not None
    # Postmark has not reported the suppression.
    assert not data.provider_suppressions
    sentence = "Confirmed, but Postmark did not deliver the latest letter to this address."
    assert reader_headline(data).words == sentence
    assert reader_headline(others_data).words == "Confirmed. The reader gets letters."

    later = data.mails[-1] | {"outcome": "sent", "reason_code": ""}
    delivered = reader_headline(replace(data, mails=[*data.mails, later]))
    assert delivered.words == "Confirmed. The reader gets letters."

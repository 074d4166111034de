"""With an idempotency key, a lost answer is asked for again by a repetition."""

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from django.db.models.functions import Now

from delivery.models import Batch, DatabaseIdentity, Delivery, Edition
from delivery.monitoring import worker_heartbeat
from delivery.provider.from_settings import policy_from_settings
from delivery.provider.provider_protocol import Asks, Capabilities
from delivery.queue.edition_control import cancel, pause, resend_unknown, resume
from delivery.queue.record_evidence import treat_as_sent
from delivery.reconcile.database_identity import check_identity
from delivery.reports.promise_sentence import promise_sentence
from delivery.reports.waiting_sentence import waiting_sentence
from delivery.rules.call_results import (
    AllAccepted,
    Answered,
    CallResult,
    Deferred,
    NotSent,
    NotTried,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Sent, Suppressed
from delivery.rules.reason import Reason, ReasonCode
from publishing.content.edition_content import Content
from publishing.editions.audience import TagChoice
from publishing.test_letters.send_test_letter import send_test
from subscribers.models import Subscriber, Suppression, Tag
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.provider.pigeon_post import Loft, PigeonPost
from tests.delivery.recorded_acceptance import put_on_record
from tests.delivery.worker_steps import changed
from tests.publishing.publish_with import publish

LETTER = Content.from_input(title="Swifts", html="<p>Dear reader</p>")

pytestmark = pytest.mark.django_db(transaction=True)


class KeyedPost(PigeonPost):
    """Pigeons with rings that are made from a key. Nobody can ask which pigeons left."""

    calls: ClassVar[list[int]] = []
    dies: ClassVar[bool] = False
    answers: ClassVar[list[CallResult]] = []

    @classmethod
    def capabilities(cls) -> Capabilities:
        can = super().capabilities()
        return replace(can, asks=Asks.NEVER, path="", key_lifetime_s=1800.0)

    def send(
        self,
        body: bytes,
        addresses: Sequence[str],
        *,
        deadline_at_s: float,
        about_to_complete: Callable[[], None] = lambda: None,
    ) -> CallResult:
        about_to_complete()
        messages = json.loads(body)
        self.calls.append(len(messages))
        if self.answers:
            return self.answers.pop(0)
        rings = [self._ring_of(message) for message in messages]
        if self.dies:
            raise SystemExit
        if Loft.loses_replies:
            return Unanswered(because("Fog."))
        return AllAccepted(rings, [None] * len(rings))

    def _ring_of(self, message: dict[str, Any]) -> str:
        for bird in Loft.left:
            if bird["metadata"] == message["metadata"]:
                assert message.items() <= bird.items()
                return str(bird["ring"])
        return Loft.dispatch(message)


@pytest.fixture
def newsroom(settings: Any) -> Iterator[Newsroom]:
    settings.MAIL_PROVIDER = f"{__name__}.KeyedPost"
    settings.DELIVERY_LOOKUP_AFTER_S = (60.0, 300.0, 900.0)
    settings.DELIVERY_HTTP_DEADLINE_S, settings.DELIVERY_LEASE_S = 40.0, 30.0
    Loft.clear()
    KeyedPost.calls.clear()
    KeyedPost.answers.clear()
    yield Newsroom()
    Loft.clear()
    KeyedPost.dies = False


def publish_in_fog(newsroom: Newsroom, readers: int = 3) -> Edition:
    """Publish an edition whose only call was accepted, but whose answer was lost."""
    edition = newsroom.publish(readers=readers)
    lose_the_answer(newsroom)
    assert newsroom.outcomes(edition) == ["unknown"] * readers
    return edition


def lose_the_answer(newsroom: Newsroom) -> None:
    """Make the next call, whose messages leave."""
    Loft.loses_replies = True
    newsroom.step()
    Loft.loses_replies = False


def assert_nobody_has_two(readers: int = 3) -> None:
    to = [one["to"] for one in Loft.left]
    assert len(to) == len(set(to)) == readers


def assert_an_author_decides(newsroom: Newsroom, edition: Edition, calls: int = 1) -> None:
    assert newsroom.batch(edition).state == "parked"
    assert newsroom.counts(edition).reason == Reason.of(ReasonCode.CANNOT_BE_ASKED)
    assert len(KeyedPost.calls) == calls


def test_a_call_is_repeated_once_and_settled(newsroom: Newsroom) -> None:
    assert "for 30 minutes, this sends nothing twice" in promise_sentence()
    edition = publish_in_fog(newsroom)
    worker_heartbeat.beat(uuid.uuid4(), host="letterbox", pid=1)
    assert "repeats the call with the same key" in waiting_sentence(newsroom.counts(edition))
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert {copy.evidence for copy in newsroom.copies(edition)} == {"lookup"}
    assert [attempt.accepted for attempt in newsroom.attempts(edition)] == [3]
    assert KeyedPost.calls == [3, 3]
    assert_nobody_has_two()


def test_the_call_of_a_killed_worker_is_repeated(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    KeyedPost.dies = True
    with pytest.raises(SystemExit):
        newsroom.step()
    KeyedPost.dies = False
    newsroom.let_time_pass(71)
    assert newsroom.recover_expired_leases() == 1
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert_nobody_has_two()


# The lifetime, less the provider's deadline of 5 s and the margin.
@pytest.mark.parametrize(("age_s", "state"), [(1730, "done"), (1737, "parked")])
def test_nothing_is_repeated_after_the_lifetime(
    newsroom: Newsroom, age_s: float, state: str
) -> None:
    edition = publish_in_fog(newsroom)
    newsroom.deliver_after(age_s)
    assert newsroom.batch(edition).state == state
    assert len(KeyedPost.calls) == (2 if state == "done" else 1)
    assert_nobody_has_two()


def test_a_call_in_the_future_is_not_repeated(newsroom: Newsroom) -> None:
    edition = publish_in_fog(newsroom)
    # The clock was set back, so the age of the key is not known.
    newsroom.let_time_pass(-3600)
    Batch.objects.update(due_at=edition.published_at)
    newsroom.deliver_all()
    assert_an_author_decides(newsroom, edition)


def test_a_call_is_not_repeated_before_its_deadline(newsroom: Newsroom, settings: Any) -> None:
    settings.DELIVERY_HTTP_DEADLINE_S = 120.0
    edition = publish_in_fog(newsroom)
    newsroom.deliver_after(61)
    assert KeyedPost.calls == [3]
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["sent"] * 3


def test_a_paused_edition_repeats_after_its_resumption(newsroom: Newsroom) -> None:
    edition = publish_in_fog(newsroom)
    assert pause(edition.pk)
    newsroom.deliver_after(61)
    assert (KeyedPost.calls, newsroom.batch(edition).state) == ([3], "unknown")
    assert resume(edition.pk)
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert_nobody_has_two()


def test_a_paused_edition_waits_only_for_the_lifetime(newsroom: Newsroom) -> None:
    edition = publish_in_fog(newsroom)
    pause(edition.pk)
    newsroom.deliver_after(61)
    newsroom.deliver_after(2 * 86_400)
    assert_an_author_decides(newsroom, edition)


def test_a_cancelled_edition_repeats_nothing(newsroom: Newsroom) -> None:
    edition = publish_in_fog(newsroom)
    cancel(edition.pk)
    newsroom.deliver_after(61)
    assert newsroom.batch(edition).state == "parked"
    assert KeyedPost.calls == [3]


def test_an_unnoticed_restore_repeats_nothing(newsroom: Newsroom) -> None:
    edition = publish_in_fog(newsroom)
    check_identity()
    DatabaseIdentity.objects.update(database=1)
    newsroom.deliver_after(61)
    assert (KeyedPost.calls, newsroom.outcomes(edition)) == ([3], ["unknown"] * 3)


def test_a_reader_who_left_gets_no_repetition(newsroom: Newsroom) -> None:
    edition = publish_in_fog(newsroom)
    left, blocked, _ = newsroom.recipients(edition)
    Subscriber.objects.filter(pk=left).update(state="unsubscribed", unsubscribed_at=Now())
    Subscriber.objects.filter(pk=blocked).update(state="bounced")
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["unknown", "unknown", "sent"]
    assert KeyedPost.calls == [3, 1]
    assert newsroom.batch(edition).state == "parked"


def test_a_reader_who_left_the_topic_gets_no_repetition(newsroom: Newsroom) -> None:
    birds = Tag.objects.create(name="Birds", is_topic=True)
    newsroom.confirm(3)
    Subscriber.objects.update(tags=[birds.pk])
    chosen = TagChoice(((birds.pk, birds.name),), ())
    edition = publish(newsroom.author.pk, "k", LETTER, hold_s=0, tags=chosen).edition
    lose_the_answer(newsroom)
    Subscriber.objects.filter(email="reader0@example.net").update(tags=[], left_topics=[birds.pk])
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["unknown", "sent", "sent"]


@pytest.mark.parametrize("is_blocked", [False, True])
def test_a_test_letter_is_repeated_unless_blocked(newsroom: Newsroom, is_blocked: bool) -> None:
    send_test(newsroom.author.pk, LETTER, "ada@example.net")
    lose_the_answer(newsroom)
    if is_blocked:
        Suppression.objects.create(
            address_key="ada@example.net",
            reason=Suppression.Reason.COMPLAINT,
            origin=Suppression.Origin.PROVIDER,
        )
    newsroom.deliver_after(61)
    (letter,) = Delivery.objects.all()
    assert (letter.outcome, len(KeyedPost.calls)) == (("failed", 1) if is_blocked else ("sent", 2))


def test_the_call_to_another_provider_is_not_repeated(newsroom: Newsroom, settings: Any) -> None:
    edition = publish_in_fog(newsroom)
    settings.MAIL_PROVIDER = f"{__name__}.OtherKeyedPost"
    newsroom.deliver_after(61)
    assert_an_author_decides(newsroom, edition)


class OtherKeyedPost(KeyedPost):
    """A second service, which knows nothing of the keys of the first."""


@pytest.mark.parametrize("mark", ["sent_at", "evidence"])
def test_a_copy_of_another_call_is_not_repeated(newsroom: Newsroom, mark: str) -> None:
    edition = publish_in_fog(newsroom)
    copy = newsroom.copies(edition)[0]
    if mark == "sent_at":
        changed(copy, sent_at=edition.published_at)
    else:
        put_on_record(copy, "ring-1")
    newsroom.deliver_after(61)
    assert KeyedPost.calls == [3, 2]
    assert newsroom.outcomes(edition) == [
        "unknown" if mark == "sent_at" else "sent",
        "sent",
        "sent",
    ]


@pytest.mark.parametrize(
    "answer",
    [
        Unanswered(because()),
        NotSent(because()),
        Answered([Deferred(because()), NotTried(because()), Unanswered(because())]),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_an_answer_without_a_judgement_is_retried(newsroom: Newsroom, answer: CallResult) -> None:
    edition = publish_in_fog(newsroom)
    KeyedPost.answers[:] = [answer]
    newsroom.let_time_pass(61)
    newsroom.step()
    batch = newsroom.batch(edition)
    assert (batch.state, batch.deferrals, batch.lookups) == ("unknown", 1, 0)
    assert batch.reason == Reason.of(ReasonCode.REPEATED_WITH_KEY)
    assert newsroom.state(edition) == "sending"
    newsroom.deliver_after(10)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert_nobody_has_two()


def test_a_deferred_repetition_waits_as_long_as_asked(newsroom: Newsroom) -> None:
    edition = publish_in_fog(newsroom)
    KeyedPost.answers[:] = [Deferred(because(), retry_after_s=500)]
    newsroom.deliver_after(61)
    newsroom.deliver_after(490)
    assert newsroom.outcomes(edition) == ["unknown"] * 3
    newsroom.deliver_after(20)
    assert newsroom.outcomes(edition) == ["sent"] * 3


def test_deferred_copies_of_the_call_are_not_repeated(newsroom: Newsroom) -> None:
    KeyedPost.answers[:] = [Answered([Unanswered(because()), Deferred(because())])]
    edition = newsroom.publish(readers=2)
    newsroom.step()
    newsroom.deliver_after(61)
    assert KeyedPost.calls == [2, 1, 1]
    assert newsroom.outcomes(edition) == ["sent"] * 2
    assert_nobody_has_two(2)


def test_a_judgement_of_a_repetition_counts(newsroom: Newsroom) -> None:
    KeyedPost.answers[:] = [
        Unanswered(because()),
        Answered([Sent("ring-1", None), Failed(because(), refused=True), Suppressed(because())]),
    ]
    edition = newsroom.publish(readers=3)
    newsroom.step()
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["sent", "failed", "suppressed"]
    assert newsroom.counts(edition).balanced


@pytest.mark.parametrize("decision", [treat_as_sent, resend_unknown])
def test_an_author_decides_after_the_lifetime(
    newsroom: Newsroom, settings: Any, decision: Callable[[int], int]
) -> None:
    settings.DELIVERY_UNKNOWN_POLICY = "resend"
    assert not policy_from_settings().resend_when_absent
    edition = publish_in_fog(newsroom)
    newsroom.deliver_after(1740)
    assert_an_author_decides(newsroom, edition)
    assert decision(edition.pk) == 3
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert len(Loft.left) == (6 if decision is resend_unknown else 3)

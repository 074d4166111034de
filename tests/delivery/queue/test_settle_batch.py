"""The outcome of each copy is written once, by the worker that holds the batch."""

import re
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from delivery.models import Attempt, Batch, Delivery, Edition, Evidence
from delivery.queue.batches.write_outcomes import write_outcomes
from delivery.queue.claim_due_batch import Claim
from delivery.queue.settle_batch import array_literal, settle_call, settle_call_and_claim
from delivery.queue.short_transaction import call_function
from delivery.rules import after_call_or_lookup
from delivery.rules.call_results import AllAccepted, CallResult, Deferred, Unanswered
from delivery.rules.outcomes import Failed, Next, Outcome, Sent, Settlement, Suppressed, Unknown
from subscribers.models import Subscriber
from tests.delivery.because import because
from tests.delivery.edition_factory import Newsroom
from tests.delivery.recorded_acceptance import put_on_record
from tests.delivery.worker_steps import WORKER, begun

NO_SUCH_ADDRESS = "Invalid 'To' address: 'reader1@example.net'."
POLICY = after_call_or_lookup.Policy(5.0, 900.0, 10, (60.0, 300.0, 900.0), True)


def decision(answer: CallResult, recipients: Sequence[int]) -> Settlement:
    return after_call_or_lookup.after_call(
        answer, recipients, after_call_or_lookup.AttemptCounters(), jitter=0.5, policy=POLICY
    )


def all_accepted(recipients: Sequence[int]) -> Settlement:
    ids = [f"id-{uuid.uuid4().hex}" for _ in recipients]
    return decision(AllAccepted(ids, [None] * len(ids)), recipients)


def test_stale_worker_cannot_settle_a_recovered_batch(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    claimed, attempt, recipients = begun()
    newsroom.let_time_pass(11)
    assert newsroom.recover_expired_leases() == 1
    refused = Deferred(because("Too fast."))
    settled = settle_call(claimed, attempt, decision(refused, recipients), Attempt.Result.REFUSED)
    assert not settled
    assert newsroom.outcomes(edition) == ["unknown"] * 3
    assert newsroom.counts(edition).unknown == 3


def test_stale_worker_answer_becomes_evidence(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    claimed, attempt, recipients = begun()
    newsroom.let_time_pass(11)
    newsroom.recover_expired_leases()
    settlement = all_accepted(recipients)
    settle_call(claimed, attempt, settlement, Attempt.Result.ANSWERED)
    settle_call(claimed, attempt, settlement, Attempt.Result.ANSWERED)
    kept = Evidence.objects.filter(issue_id=edition.issue_id)
    assert sorted(fact.recipient_id for fact in kept) == sorted(recipients)
    assert {fact.attempt for fact in kept} == {attempt}


def settled_with_next_claim(newsroom: Newsroom, *, lost: bool) -> tuple[Edition, Claim | None]:
    """Settle the first of two batches together with a claim of the second one."""
    edition = newsroom.publish(readers=2)
    newsroom.publish(readers=2)
    claimed, attempt, recipients = begun()
    if lost:
        newsroom.let_time_pass(11)
        newsroom.recover_expired_leases()
    return edition, settle_call_and_claim(
        claimed,
        attempt,
        all_accepted(recipients),
        Attempt.Result.ANSWERED,
        worker=WORKER,
        lease_s=30,
    )


def test_settlement_claims_the_next_batch(newsroom: Newsroom) -> None:
    edition, next_claim = settled_with_next_claim(newsroom, lost=False)
    assert newsroom.outcomes(edition) == ["sent"] * 2
    assert next_claim is not None
    assert len(next_claim.deliveries) == 4
    assert Batch.objects.get(pk=next_claim.batch).state == "claimed"


def test_late_settlement_with_a_claim_becomes_evidence(newsroom: Newsroom) -> None:
    edition, next_claim = settled_with_next_claim(newsroom, lost=True)
    assert Evidence.objects.filter(issue_id=edition.issue_id).count() == 2
    assert next_claim is not None


def test_a_batch_that_is_settled_is_not_settled_again(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    claimed, attempt, recipients = begun()
    first = all_accepted(recipients)
    assert settle_call(claimed, attempt, first, Attempt.Result.ANSWERED)
    ids = list(Delivery.objects.values_list("provider_message_id", flat=True))
    again = decision(Unanswered(because("The line was cut.")), recipients)
    assert not settle_call(claimed, attempt, again, Attempt.Result.UNKNOWN)
    assert list(Delivery.objects.values_list("provider_message_id", flat=True)) == ids
    assert newsroom.outcomes(edition) == ["sent"] * 3


def test_an_earlier_epoch_does_not_settle_a_later_call(
    newsroom: Newsroom, settings: object
) -> None:
    settings.DELIVERY_LOOKUP_AFTER_S = (1.0,)  # type: ignore[attr-defined]
    edition = newsroom.publish(readers=3)
    stale, stale_attempt, recipients = begun()
    newsroom.let_time_pass(11)
    newsroom.recover_expired_leases()
    newsroom.let_time_pass(2)
    newsroom.step()
    current, _, _ = begun()
    assert current.batch == stale.batch

    late = all_accepted(recipients)
    assert not settle_call(stale, stale_attempt, late, Attempt.Result.ANSWERED)

    assert newsroom.batch(edition).state == "sending"
    assert newsroom.outcomes(edition) == ["waiting"] * 3


def test_a_refused_address_fails_and_its_reader_is_marked_bounced(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=3)
    newsroom.sandbox.set_fault(
        "item_error", code=300, text=NO_SUCH_ADDRESS, recipients=["reader1@example.net"]
    )

    newsroom.deliver_all()

    assert newsroom.outcomes(edition) == ["sent", "failed", "sent"]
    refused = Delivery.objects.get(issue=edition.issue_id, outcome="failed")
    assert refused.reason is not None
    assert refused.reason.params["error_code"] == 300
    assert Subscriber.objects.get(email="reader1@example.net").state == "bounced"
    # The edition succeeds although the provider refused an address.
    assert newsroom.state(edition) == "succeeded"


def test_an_inactive_address_is_suppressed_and_its_reader_unchanged(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    newsroom.sandbox.set_fault("item_error", code=406)
    newsroom.deliver_all()
    assert newsroom.outcomes(edition) == ["suppressed"]
    assert Subscriber.objects.get().state == "confirmed"
    assert newsroom.state(edition) == "succeeded"


@pytest.mark.parametrize(
    ("code", "rows"), [(406, ["suppressed"]), (300, ["failed", "bounced"])], ids=["406", "300"]
)
def test_docs_name_each_state_that_a_code_leads_to(code: int, rows: list[str]) -> None:
    page = (settings.BASE_DIR / "docs" / "states.md").read_text()
    named = re.findall(rf"^\| `(\w+)` \|.*\b{code}\b.*$", page, re.MULTILINE)
    assert named == rows


@pytest.mark.parametrize("fault", ["refuse_429", "forbidden_403_html"])
def test_a_deferred_call_uses_up_no_try(newsroom: Newsroom, fault: str) -> None:
    edition = newsroom.publish(readers=3)
    newsroom.sandbox.set_fault(fault, calls=1)
    newsroom.deliver_all()
    waiting = newsroom.batch(edition)
    assert (waiting.state, waiting.tries, waiting.deferrals) == ("ready", 0, 1)
    assert newsroom.counts(edition).waiting == 3
    newsroom.deliver_after(60)
    assert newsroom.outcomes(edition) == ["sent"] * 3
    assert newsroom.sandbox.summary()["accepted"] == 3


def test_a_call_that_is_too_large_is_halved(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=5)
    newsroom.sandbox.set_fault("payload_too_large_413", calls=1)
    newsroom.deliver_all()
    newsroom.deliver_after(1)
    assert sorted(batch.size for batch in newsroom.batches(edition)) == [2, 3]
    assert newsroom.outcomes(edition) == ["sent"] * 5
    assert newsroom.sandbox.summary()["accepted"] == 5


@pytest.mark.parametrize("decided", [Sent("m-1", None), Suppressed(because("inactive"))])
def test_an_outcome_changed_in_sql_undoes_the_settlement(
    newsroom: Newsroom, decided: Sent | Suppressed
) -> None:
    edition = newsroom.publish(readers=3)
    claimed, attempt, recipients = begun()
    Delivery.objects.filter(recipient=recipients[0]).update(outcome="withdrawn")
    settlement = (
        all_accepted(recipients)
        if isinstance(decided, Sent)
        else Settlement(outcomes=dict.fromkeys(recipients, decided), next=Next.DONE)
    )

    with pytest.raises((DatabaseError, AssertionError), match="2 of 3"):
        settle_call(claimed, attempt, settlement, Attempt.Result.ANSWERED)

    assert newsroom.outcomes(edition) == ["withdrawn", "waiting", "waiting"]
    assert newsroom.batch(edition).state == "sending"


def test_recorded_evidence_settles_at_the_next_look_up(newsroom: Newsroom) -> None:
    edition = newsroom.publish(readers=1)
    claimed, attempt, recipients = begun()
    lost = decision(Unanswered(because("The line was cut.")), recipients)
    assert settle_call(claimed, attempt, lost, Attempt.Result.UNKNOWN)
    put_on_record(Delivery.objects.get(issue=edition.issue_id), "m-1")
    newsroom.deliver_after(61)
    assert newsroom.outcomes(edition) == ["sent"]
    assert newsroom.sandbox.summary()["accepted"] == 0


AWKWARD = [
    "NULL",
    "a,b",
    "{c}",
    " d ",
    "'",
    '"',
    "\\",
    '\\"',
    "%s",
    "Åland",
    "\U0001f426",
]


def write(batch: int, outcomes: dict[int, Outcome], *, was: str = "waiting") -> None:
    sent = {who: outcome for who, outcome in outcomes.items() if isinstance(outcome, Sent)}
    others = {who: outcome for who, outcome in outcomes.items() if who not in sent}
    with transaction.atomic(), connection.cursor() as cursor:
        write_outcomes(cursor, batch, others, old=was)
        call_function(
            cursor,
            "write_sent_1",
            batch=batch,
            old=was,
            evidence="reply",
            recipients=array_literal(list(sent)),
            message_ids=array_literal([one.message_id for one in sent.values()]),
            times=array_literal([one.at for one in sent.values()]),
        )


def copies(newsroom: Newsroom, number: int) -> tuple[int, list[Delivery]]:
    edition = newsroom.publish(number)
    batch = Batch.objects.get(edition=edition).pk
    return batch, list(Delivery.objects.filter(batch_id=batch).order_by("recipient"))


def now(copy: Delivery) -> Delivery:
    return Delivery.objects.get(issue=copy.issue_id, recipient=copy.recipient_id)


def test_ids_and_reasons_with_special_characters_are_stored_unchanged(newsroom: Newsroom) -> None:
    batch, waiting = copies(newsroom, 2 * len(AWKWARD))
    ids = dict(zip((copy.recipient_id for copy in waiting), AWKWARD, strict=False))
    reasons = dict(zip((copy.recipient_id for copy in reversed(waiting)), AWKWARD, strict=False))
    write(
        batch,
        {who: Sent(words, None) for who, words in ids.items()}
        # Only the reasons get a line end, because the client accepts only printable ids.
        | {who: Suppressed(because(f"{words}\n")) for who, words in reasons.items()},
    )
    written = [now(copy) for copy in waiting]
    assert {
        copy.recipient_id: copy.provider_message_id for copy in written if copy.outcome == "sent"
    } == ids
    assert {copy.recipient_id: copy.reason for copy in written if copy.outcome == "suppressed"} == {
        who: because(f"{words}\n") for who, words in reasons.items()
    }


def test_a_copy_has_the_providers_time_or_else_ours(newsroom: Newsroom) -> None:
    batch, (first, second, third) = copies(newsroom, 3)
    there = datetime(2026, 5, 4, 14, 15, 22, 987654, UTC)
    elsewhere = datetime(2026, 5, 4, tzinfo=timezone(timedelta(hours=-5, minutes=-30)))
    write(
        batch,
        {
            first.recipient_id: Sent("a", there),
            second.recipient_id: Sent("b", elsewhere),
            third.recipient_id: Sent("c", None),
        },
    )
    assert [now(first).sent_at, now(second).sent_at] == [there, elsewhere]
    assert (now(third).sent_at or there) > there


def test_each_delivery_gets_its_own_outcome(newsroom: Newsroom) -> None:
    batch, waiting = copies(newsroom, 5)
    decided: list[Outcome] = [
        Sent("a", None),
        Suppressed(because("inactive")),
        Failed(because("too long"), refused=False),
        Failed(because("no such address"), refused=True),
        Unknown(),
    ]
    write(
        batch, {copy.recipient_id: outcome for copy, outcome in zip(waiting, decided, strict=True)}
    )
    assert [(now(copy).outcome, now(copy).reason, now(copy).missed) for copy in waiting] == [
        ("sent", None, None),
        ("suppressed", because("inactive"), None),
        ("failed", because("too long"), True),
        ("failed", because("no such address"), None),
        ("unknown", None, None),
    ]


def test_the_same_readers_copy_of_another_issue_is_not_touched(newsroom: Newsroom) -> None:
    _, (before,) = copies(newsroom, 1)
    batch, (copy,) = copies(newsroom, 0)
    assert copy.recipient_id == before.recipient_id
    write(batch, {copy.recipient_id: Sent("a", None)})
    assert (now(copy).outcome, now(before).outcome) == ("sent", "waiting")

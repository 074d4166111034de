"""Each kind of answer to a batch has a test."""

import pytest

from delivery.postmark.classify_responses import classify_call
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.call_results import (
    Answered,
    CallResult,
    Deferred,
    RefusedByProxy,
    RejectedForAll,
    TooLarge,
    Unanswered,
)
from delivery.rules.outcomes import Failed, Sent, Suppressed
from delivery.rules.reason import Reason, ReasonCode
from tests.delivery.postmark_responses import JSON, accepted, addresses, body, error, message_id

HTML = b"<html><body><h1>Some gateway</h1></body></html>"
RECIPIENT_TEXT = "Invalid 'To' address: 'c@@example.net'."


def answer_to(status: int, content: bytes, *, count: int = 2, **headers: str) -> CallResult:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return classify_call(status, JSON | named, content, addresses(count))


def remedy_of(answer: CallResult) -> str:
    assert isinstance(answer, RejectedForAll)
    return reason_sentence(answer.reason)


def test_every_message_gets_its_own_answer_in_the_order_sent() -> None:
    items = [accepted(1), error(406), error(300, RECIPIENT_TEXT), error(400), accepted(5)]
    answer = answer_to(200, body(items), count=5)
    assert isinstance(answer, Answered)
    kinds = [type(message) for message in answer.messages]
    assert kinds == [Sent, Suppressed, Failed, RejectedForAll, Sent]


def test_reordered_results_are_not_mixed_up() -> None:
    answer = answer_to(200, body([accepted(2), accepted(1)]))
    assert isinstance(answer, Answered)
    assert [type(message) for message in answer.messages] == [Unanswered, Unanswered]


def test_one_id_for_two_messages_is_evidence_for_neither() -> None:
    twice = [accepted(1), accepted(2, MessageID=message_id(1)), accepted(3)]
    answer = answer_to(200, body(twice), count=3)
    assert isinstance(answer, Answered)
    assert [type(message) for message in answer.messages] == [Unanswered, Unanswered, Sent]


CUT_SHORT = body([accepted(1), accepted(2)])[:-1]
NO_LISTS = [b"", HTML, b"null", b'"OK"', body(accepted()), body(error(0, "OK")), CUT_SHORT]
WRONG_LENGTHS = [body([]), body([accepted(1)]), body([accepted(1), accepted(2), accepted(3)])]
NO_JSON = [CUT_SHORT + b"]]", b"\xff\xfe[\x00]\x00", b'[{"MessageID": "\xff"}, {}]', b"[NaN, NaN]"]
TOO_DEEP = [b"[" * 100_000, b"[" * 5_000 + b"]" * 5_000]


@pytest.mark.parametrize(
    "content", NO_LISTS + WRONG_LENGTHS + NO_JSON + TOO_DEEP, ids=lambda content: repr(content[:30])
)
def test_200_with_unusable_results_leaves_messages_unanswered(content: bytes) -> None:
    assert isinstance(answer_to(200, content), Unanswered)


@pytest.mark.parametrize("content", [b"", HTML, body(error(10))])
def test_429_defers_the_call_with_any_body(content: bytes) -> None:
    assert answer_to(429, content) == Deferred(Reason.of(ReasonCode.TOO_FAST), None, too_fast=True)


BOUNDED = {"0": 0, " 30 ": 30, "3600": 3600, "999999999": 3600}
NO_NUMBERS = ["9999999999", "", "soon", "-5", "1.5", "1e3", "nan", "٣", "Wed, 21 Oct 2026", "5, 6"]


@pytest.mark.parametrize(
    ("value", "seconds"), [*BOUNDED.items(), *((text, None) for text in NO_NUMBERS)]
)
def test_retry_after_counts_if_it_is_a_bounded_number(value: str, seconds: float | None) -> None:
    assert getattr(answer_to(429, b"", retry_after=value), "retry_after_s", "") == seconds


def test_maintenance_defers_the_call() -> None:
    answer = answer_to(503, body(error(100)), Retry_After="60")
    assert answer == Deferred(Reason.of(ReasonCode.MAINTENANCE), 60.0)


@pytest.mark.parametrize("status", [500, 502, 504, 529, 599, 999])
@pytest.mark.parametrize(
    "content", [b"", HTML, body(error(100)), body(error(101)), body(error(429))]
)
def test_a_server_error_leaves_messages_unanswered(status: int, content: bytes) -> None:
    assert isinstance(answer_to(status, content), Unanswered)


@pytest.mark.parametrize("status", [100, 201, 204, 226])
def test_a_success_other_than_200_leaves_messages_unanswered(status: int) -> None:
    # Postmark reports an accepted call only with status 200. Another status may come from a proxy.
    assert isinstance(answer_to(status, body([accepted(1), accepted(2)])), Unanswered)
    assert isinstance(answer_to(status, b""), Unanswered)


def test_code_101_leaves_messages_unanswered_under_any_status() -> None:
    assert isinstance(answer_to(422, body(error(101))), Unanswered)


@pytest.mark.parametrize(
    ("status", "content", "count", "kind"),
    [
        (503, HTML, 2, Unanswered),
        (503, body(error(101)), 2, Unanswered),
        (422, body(error(429)), 2, Deferred),
        (422, body(error(100)), 2, Deferred),
        (413, HTML, 1, TooLarge),
        (413, body(error(413)), 200, TooLarge),
        (422, body(error(410)), 501, TooLarge),
        (403, b"", 2, RefusedByProxy),
        (403, HTML, 2, RefusedByProxy),
        (403, b"{}", 2, RefusedByProxy),
        (403, body(error(0)), 2, RefusedByProxy),
        # An error in a list is the error of one message, not of the whole call.
        (403, body([error(406)]), 2, RefusedByProxy),
    ],
)
def test_status_and_code_decide_the_kind_of_answer(
    status: int, content: bytes, count: int, kind: type
) -> None:
    assert isinstance(answer_to(status, content, count=count), kind)


@pytest.mark.parametrize(
    ("refusal", "alone"), [(error(406), Suppressed), (error(300, RECIPIENT_TEXT), Failed)]
)
def test_a_call_refused_for_one_reader_is_halved(refusal: dict[str, object], alone: type) -> None:
    assert isinstance(answer_to(422, body(refusal), count=2), TooLarge)
    answer = answer_to(422, body(refusal), count=1)
    assert isinstance(answer, Answered)
    assert [type(message) for message in answer.messages] == [alone]


@pytest.mark.parametrize(
    ("status", "content", "names"),
    [
        (401, HTML, "POSTMARK_SERVER_TOKEN"),
        (415, b"", "fault in Homing"),
        (415, body(error(409)), "fault in Homing"),
        *((status, HTML, "POSTMARK_BASE_URL") for status in (301, 308, 400, 404, 408, 422, 499)),
    ],
)
def test_status_without_a_code_names_its_remedy(status: int, content: bytes, names: str) -> None:
    assert names in remedy_of(answer_to(status, content))


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (10, "POSTMARK_SERVER_TOKEN"),
        (300, "Correct the issue"),
        (402, "fault in Homing"),
        (405, "plan and credits"),
        (413, "may not send"),
        (9999, "does not know this code"),
    ],
)
@pytest.mark.parametrize(("status", "count"), [(400, 1), (401, 200), (403, 1), (422, 200)])
def test_permanent_refusal_rejects_all_messages_and_names_the_remedy(
    status: int, count: int, code: int, names: str
) -> None:
    assert names in remedy_of(answer_to(status, body(error(code)), count=count))

"""What a whole answer to a batch says: one test for each kind of answer there is."""

from __future__ import annotations

import pytest

from delivery.classification import classify_call
from delivery.outcomes import (
    Accepted,
    Answered,
    Blocked,
    CallAnswer,
    CallFault,
    CallUnanswered,
    Fault,
    Inactive,
    PutOff,
    Refused,
    TooLarge,
    Unanswered,
)
from tests.delivery.answers import JSON, accepted, addresses, body, error, message_id

HTML = b"<html><body><h1>Some gateway</h1></body></html>"
RECIPIENT_TEXT = "Invalid 'To' address: 'c@@example.net'."


def answer_to(status: int, content: bytes, *, count: int = 2, **headers: str) -> CallAnswer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return classify_call(status, JSON | named, content, addresses(count))


def remedy_of(answer: CallAnswer) -> str:
    assert isinstance(answer, CallFault)
    return answer.fault.remedy


# --- 200 --------------------------------------------------------------------------------------


def test_every_message_gets_its_own_answer_in_the_order_sent() -> None:
    items = [accepted(1), error(406), error(300, RECIPIENT_TEXT), error(400), accepted(5)]
    answer = answer_to(200, body(items), count=5)
    assert isinstance(answer, Answered)
    kinds = [type(message) for message in answer.messages]
    assert kinds == [Accepted, Inactive, Refused, Fault, Accepted]


def test_results_in_another_order_than_sent_are_not_taken_for_each_other() -> None:
    answer = answer_to(200, body([accepted(2), accepted(1)]))
    assert isinstance(answer, Answered)
    assert [type(message) for message in answer.messages] == [Unanswered, Unanswered]


def test_one_id_for_two_messages_is_evidence_for_neither() -> None:
    twice = [accepted(1), accepted(2, MessageID=message_id(1)), accepted(3)]
    answer = answer_to(200, body(twice), count=3)
    assert isinstance(answer, Answered)
    assert [type(message) for message in answer.messages] == [Unanswered, Unanswered, Accepted]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        HTML,
        b"null",
        b"{}",
        b'"OK"',
        body(accepted()),
        body(error(0, "OK")),
        body([]),
        body([accepted(1)]),
        body([accepted(1), accepted(2), accepted(3)]),
        body([accepted(1), accepted(2)])[:-1],
        body([accepted(1), accepted(2)]) + b"]",
        b"\xff\xfe[\x00]\x00",
        b'[{"MessageID": "\xff"}, {}]',
        b"[NaN, NaN]",
        b"[Infinity, 1e999]",
        b"[" * 100_000,
        b"[" * 5_000 + b"]" * 5_000,
    ],
    ids=[
        "nothing",
        "a page",
        "null",
        "an empty object",
        "a string",
        "one result and no list",
        "a message and no list",
        "an empty list",
        "too few results",
        "too many results",
        "cut short",
        "something after the end",
        "utf-16",
        "not utf-8",
        "NaN",
        "infinity",
        "a hundred thousand brackets",
        "a deep nest",
    ],
)
def test_a_200_that_is_not_one_result_a_message_leaves_all_open(content: bytes) -> None:
    assert isinstance(answer_to(200, content), CallUnanswered)


def test_of_a_repeated_name_the_last_value_counts() -> None:
    twice = b'[{"ErrorCode": 0, "MessageID": "x", "ErrorCode": 406}]'
    answer = answer_to(200, twice, count=1)
    assert isinstance(answer, Answered)
    assert isinstance(answer.messages[0], Inactive)


def test_a_text_that_is_a_deep_nest_is_survived() -> None:
    nest = b'[{"ErrorCode": 400, "Message": ' + b"[" * 1_000 + b"]" * 1_000 + b"}]"
    answer = answer_to(200, nest, count=1)
    assert isinstance(answer, Answered)
    assert isinstance(answer.messages[0], Fault)


# --- Put off ----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", HTML, body(error(429)), body(error(10))])
def test_429_puts_the_call_off_whatever_its_body(content: bytes) -> None:
    assert answer_to(429, content) == PutOff(
        "Postmark asked for a slower pace (429).", None, too_fast=True
    )


def test_code_429_under_422_puts_the_call_off_as_well() -> None:
    assert isinstance(answer_to(422, body(error(429))), PutOff)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        (" 30 ", 30.0),
        ("3600", 3600.0),
        ("999999999", 3600.0),
        ("9999999999", None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("1e3", None),
        ("inf", None),
        ("nan", None),
        ("٣", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("5, 6", None),
    ],
)
def test_retry_after_is_honoured_where_it_is_a_number_and_bounded(
    value: str, seconds: float | None
) -> None:
    answer = answer_to(429, b"", retry_after=value)
    assert isinstance(answer, PutOff)
    assert answer.retry_after_s == seconds


def test_maintenance_puts_the_call_off() -> None:
    answer = answer_to(503, body(error(100)), Retry_After="60")
    assert answer == PutOff("Postmark is under maintenance (503).", 60.0)
    assert isinstance(answer_to(422, body(error(100))), PutOff)


# --- Unanswered -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (500, body(error(101, "An unexpected error, id 7"))),
        (500, body(error(429))),
        (500, body(error(100))),
        (500, b""),
        (502, HTML),
        (503, b""),
        (503, HTML),
        (503, body(error(101))),
        (504, HTML),
        (529, b""),
        (599, body(error(0))),
        (999, b""),
    ],
)
def test_a_server_error_leaves_open_what_was_accepted(status: int, content: bytes) -> None:
    assert isinstance(answer_to(status, content), CallUnanswered)


@pytest.mark.parametrize("status", [100, 101, 201, 202, 204, 207, 226])
def test_another_success_than_200_leaves_open_what_was_accepted(status: int) -> None:
    # Postmark answers 200 alone; what stands in between may have passed the call on.
    assert isinstance(answer_to(status, body([accepted(1), accepted(2)])), CallUnanswered)
    assert isinstance(answer_to(status, b""), CallUnanswered)


def test_code_101_leaves_open_what_was_accepted_under_any_status() -> None:
    assert isinstance(answer_to(422, body(error(101))), CallUnanswered)


# --- Too large --------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", HTML, body(error(413))])
@pytest.mark.parametrize("count", [1, 200])
def test_413_says_that_less_may_pass(content: bytes, count: int) -> None:
    assert isinstance(answer_to(413, content, count=count), TooLarge)


def test_code_410_says_that_less_may_pass() -> None:
    assert isinstance(answer_to(422, body(error(410)), count=501), TooLarge)


@pytest.mark.parametrize(
    ("refusal", "alone"),
    [(error(406), Inactive), (error(300, RECIPIENT_TEXT), Refused)],
    ids=["406", "300 about the recipient"],
)
def test_a_whole_call_refused_for_one_readers_sake_goes_in_halves(
    refusal: dict[str, object], alone: type
) -> None:
    assert isinstance(answer_to(422, body(refusal), count=2), TooLarge)
    answer = answer_to(422, body(refusal), count=1)
    assert isinstance(answer, Answered)
    assert [type(message) for message in answer.messages] == [alone]


# --- Faults and blocks ------------------------------------------------------------------------


def test_401_names_the_token_with_and_without_a_code() -> None:
    assert "POSTMARK_SERVER_TOKEN" in remedy_of(answer_to(401, body(error(10))))
    assert "POSTMARK_SERVER_TOKEN" in remedy_of(answer_to(401, HTML))


@pytest.mark.parametrize("content", [b"", HTML, b"{}", body(error(0))])
def test_403_without_a_code_comes_from_before_the_api(content: bytes) -> None:
    assert isinstance(answer_to(403, content), Blocked)


def test_404_names_the_address() -> None:
    assert "POSTMARK_BASE_URL" in remedy_of(answer_to(404, HTML))


def test_415_is_a_fault_of_homing() -> None:
    assert "fault of Homing" in remedy_of(answer_to(415, b""))
    assert "fault of Homing" in remedy_of(answer_to(415, body(error(409))))


@pytest.mark.parametrize("status", [300, 301, 302, 307, 308, 400, 405, 408, 418, 422, 451, 499])
def test_another_status_without_a_code_stops_and_names_the_address(status: int) -> None:
    assert "POSTMARK_BASE_URL" in remedy_of(answer_to(status, HTML))


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (10, "POSTMARK_SERVER_TOKEN"),
        (300, "Correct the issue"),
        (400, "FROM_EMAIL"),
        (402, "fault of Homing"),
        (403, "fault of Homing"),
        (405, "plan and credits"),
        (412, "approved"),
        (413, "may not send"),
        (500, "sender signatures"),
        (606, "settings of the Postmark server"),
        (1235, "POSTMARK_BROADCAST_STREAM"),
        (1480, "allowed IPs"),
        (9999, "does not know this code"),
    ],
)
@pytest.mark.parametrize("count", [1, 200])
@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_a_whole_call_refused_for_every_callers_sake_stops(
    status: int, count: int, code: int, names: str
) -> None:
    assert names in remedy_of(answer_to(status, body(error(code)), count=count))


def test_an_error_in_a_list_is_no_error_of_the_call() -> None:
    assert isinstance(answer_to(403, body([error(406)])), Blocked)

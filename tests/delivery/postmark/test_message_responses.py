"""Each known ErrorCode of a message's result has a test."""

from datetime import UTC, datetime

import pytest

from delivery.postmark.classify_responses import MAX_TEXT_LENGTH, classify_message
from delivery.reports.reason_sentences import reason_sentence
from delivery.rules.call_results import Deferred, MessageResult, RejectedForAll, Unanswered
from delivery.rules.outcomes import Failed, Sent
from tests.delivery.postmark_responses import accepted, error, message_id

ADDRESS = "reader1@example.net"
ACCEPTED = Sent(message_id(1), datetime(2026, 5, 4, 14, 15, 22, 123456, tzinfo=UTC))


def answer_to(item: object) -> MessageResult:
    return classify_message(item, ADDRESS)


def remedy_for(code: int, text: str = "Something is wrong.") -> str:
    fault = answer_to(error(code, text))
    assert isinstance(fault, RejectedForAll)
    return reason_sentence(fault.reason)


def test_code_0_with_id_is_accepted_at_provider_time() -> None:
    assert answer_to(accepted()) == ACCEPTED


def test_a_delayed_acceptance_has_no_code_and_is_accepted() -> None:
    delayed = accepted(Message="Message accepted, but delivery may be delayed.")
    del delayed["ErrorCode"]
    assert answer_to(delayed) == ACCEPTED


@pytest.mark.parametrize(
    "more",
    [
        {"ErrorCode": None},
        {"To": "READER1@Example.NET"},
        {"To": '"Reader, Jr." <Reader1@example.net>'},
        {"To": " reader1@example.net "},
        # An address that cannot be read does not contradict the message's address.
        {"To": None},
        {"To": 5},
        {"To": ["reader1@example.net"]},
    ],
)
def test_an_acceptance_may_be_written_in_other_ways(more: dict[str, object]) -> None:
    assert answer_to(accepted(**more)) == ACCEPTED


@pytest.mark.parametrize(
    "time",
    [
        None,
        "yesterday",
        5,
        "2026-05-04T10:15:22",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:59-12:00",
    ],
)
def test_unusable_time_does_not_invalidate_an_acceptance(time: object) -> None:
    assert answer_to(accepted(SubmittedAt=time)) == Sent(message_id(1), None)


def test_provider_time_is_converted_to_utc() -> None:
    answer = answer_to(accepted(SubmittedAt="2026-05-04T10:15:22+20:00"))
    assert isinstance(answer, Sent)
    assert answer.at is not None
    assert answer.at.isoformat() == "2026-05-03T14:15:22+00:00"


@pytest.mark.parametrize(
    "provider_id", [None, "", 17, ["x"], "x" * 101, "two\nlines", "nul\x00", "bell\x07"], ids=repr
)
@pytest.mark.parametrize("code", [0, None])
def test_an_acceptance_without_a_usable_id_is_unanswered(provider_id: object, code: object) -> None:
    assert isinstance(answer_to(accepted(MessageID=provider_id, ErrorCode=code)), Unanswered)


NO_RESULTS: list[object] = [None, [], "OK", 0, True, {}, {"Message": "OK"}]
NO_CODES: list[object] = [True, False, "0", "406", 0.0, 406.0, [], {}]
OTHERS_ADDRESSES = ["reader2@example.net", "areader1@example.net", "reader1@example.network", ""]
OTHERS_ADDRESSES += ["reader1@example.net <other@example.org>"]


@pytest.mark.parametrize(
    "item",
    NO_RESULTS
    + [accepted(ErrorCode=code) for code in NO_CODES]
    + [accepted(To=address) for address in OTHERS_ADDRESSES],
)
def test_unusable_result_leaves_the_message_unanswered(item: object) -> None:
    assert isinstance(answer_to(item), Unanswered)


@pytest.mark.parametrize("code", [100, 429])
def test_maintenance_and_rate_limit_defer_the_message(code: int) -> None:
    assert isinstance(answer_to(error(code)), Deferred)


def test_code_101_leaves_the_message_unanswered() -> None:
    assert isinstance(answer_to(error(101)), Unanswered)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (10, "POSTMARK_SERVER_TOKEN"),
        (14, "Postmark's support"),
        (401, "another sender under Settings"),
        (405, "plan and credits"),
        (411, "Correct the issue"),
        (412, "approved"),
        (413, "may not send"),
        (422, "POSTMARK_SERVER_TOKEN"),
        (503, "sender signatures"),
        (614, "settings of the Postmark server"),
        (1220, "message streams"),
        (1235, "POSTMARK_BROADCAST_STREAM"),
        (1480, "allowed IPs"),
        *((code, "fault in Homing") for code in (402, 403, 409, 1101, 1109, 1120, 1123)),
        *((code, "does not know this code") for code in (11, 410, 524, 1242, 9999, -1, 2**62)),
    ],
)
def test_account_fault_names_its_remedy(code: int, names: str) -> None:
    assert names in remedy_for(code)


@pytest.mark.parametrize(
    "text",
    [
        "Invalid 'To' address: 'c@@example.net'.",
        "Error parsing 'To': Illegal email address 'x'. It must contain the '@' symbol.",
        "error parsing  'TO': anything",
    ],
)
def test_300_about_the_recipient_refuses_only_this_reader(text: str) -> None:
    answer = answer_to(error(300, text))
    assert isinstance(answer, Failed)
    assert "(code 300)" in reason_sentence(answer.reason)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Zero recipients specified", "Correct the issue"),
        ("Invalid 'From' address: 'x'.", "the sender and"),
        ("Error parsing 'Reply-To': Illegal email address 'x'.", "reply-to"),
        ("Error parsing 'ReplyTo': Illegal email address 'x'.", "reply-to"),
        ("Your subject quotes Invalid 'To' address", "Correct the issue"),
        ("Invalid 'Topic' header", "Correct the issue"),
        ("", "Correct the issue"),
    ],
)
def test_300_about_anything_else_stops_everything(text: str, names: str) -> None:
    assert names in remedy_for(300, text)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("The 'From'\r\naddress ", "The 'From' address"),
        ("x" * 100_000, "x" * (MAX_TEXT_LENGTH - 1) + "…"),
        ("x" * MAX_TEXT_LENGTH, "x" * MAX_TEXT_LENGTH),
        ("a\x00b\x1b[31mc\x85d", "a b [31mc d"),
        (None, ""),
        (5, ""),
        ({"a": "b"}, ""),
    ],
)
def test_the_providers_words_are_quoted_on_one_bounded_line(text: object, quoted: str) -> None:
    fault = answer_to({"ErrorCode": 400, "Message": text})
    assert isinstance(fault, RejectedForAll)
    refused = f"Postmark refuses: “{quoted}” (code 400)."
    assert reason_sentence(fault.reason).startswith(f"{refused} Confirm the sender’s address")
